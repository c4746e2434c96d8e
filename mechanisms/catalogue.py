"""Names of the mechanisms. A new one is one file and one line here; `dpassay list mechanisms` shows them."""

from mechanisms.registry import Catalogue

catalogue = Catalogue(
    "mechanism",
    {
        "laplace": "mechanisms.noise.laplace:Laplace",
        "gaussian": "mechanisms.noise.gaussian:Gaussian",
        "geometric": "mechanisms.noise.geometric:Geometric",
        "exponential": "mechanisms.selection.exponential:Exponential",
        "randomized-response": "mechanisms.local.randomized_response:RandomizedResponse",
        "k-ary-randomized-response": "mechanisms.local.k_ary:KAryRandomizedResponse",
        "repeated": "mechanisms.repeated:Repeated",
        "broken-laplace-scale": "mechanisms.broken.laplace_scale:LaplaceScaleUpsideDown",
        "broken-laplace-sensitivity": "mechanisms.broken.laplace_sensitivity:LaplaceForgottenSensitivity",
        "broken-randomized-response": "mechanisms.broken.biased_coin:BiasedCoinResponse",
    },
)
get = catalogue.get
build = catalogue.build
