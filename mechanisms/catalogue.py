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
        "output-perturbation": "mechanisms.learning.output_perturbation:OutputPerturbation",
        "objective-perturbation": "mechanisms.learning.objective_perturbation:ObjectivePerturbation",
        "noisy-projected-sgd": "mechanisms.learning.projected_sgd:NoisyProjectedSGD",
        "repeated": "mechanisms.repeated:Repeated",
        "dp-sgd": "mechanisms.learning.dp_sgd:DPSGD",
        "broken-laplace-scale": "mechanisms.broken.laplace_scale:LaplaceInverseScale",
        "broken-laplace-sensitivity": "mechanisms.broken.laplace_sensitivity:LaplaceForgottenSensitivity",
        "broken-randomized-response": "mechanisms.broken.biased_coin:BiasedCoinResponse",
        "broken-dp-sgd-mean-clipped": "mechanisms.broken.dp_sgd.mean_clipped:MeanClipped",
        "broken-dp-sgd-microbatch-mean-clipped": "mechanisms.broken.dp_sgd.mean_clipped:MicrobatchMeanClipped",
        "broken-dp-sgd-noise-on-average": "mechanisms.broken.dp_sgd.mean_clipped:NoiseOnAverage",
        "broken-dp-sgd-layers-clipped-apart": "mechanisms.broken.dp_sgd.layers:PerLayerFullClip",
        "broken-dp-sgd-layer-not-clipped": "mechanisms.broken.dp_sgd.layers:LayerNotClipped",
        "broken-dp-sgd-raw-mean-mixed-in": "mechanisms.broken.dp_sgd.raw_mean:RawMeanMixedIn",
        "broken-dp-sgd-noise-divided-twice": "mechanisms.broken.dp_sgd.noise_scale:NoiseDividedTwice",
        "broken-dp-sgd-noise-of-sum-on-mean": "mechanisms.broken.dp_sgd.noise_scale:NoiseOfSumOnMean",
        "broken-dp-sgd-noise-reused-in-steps": "mechanisms.broken.dp_sgd.stale_noise:NoiseReusedInSteps",
        "broken-dp-sgd-noise-reused-in-layers": "mechanisms.broken.dp_sgd.stale_noise:NoiseReusedInLayers",
        "broken-dp-sgd-noise-of-fixed-seed": "mechanisms.broken.dp_sgd.stale_noise:NoiseOfFixedSeed",
        "broken-dp-sgd-bias-without-noise": "mechanisms.broken.dp_sgd.partial_noise:BiasWithoutNoise",
        "broken-dp-sgd-noise-after-momentum": "mechanisms.broken.dp_sgd.partial_noise:NoiseAfterMomentum",
        "broken-dp-sgd-expected-batch-size-of-data": "mechanisms.broken.dp_sgd.divisor:ExpectedBatchSizeOfData",
        "broken-dp-sgd-realised-batch-size": "mechanisms.broken.dp_sgd.divisor:RealisedBatchSize",
        "broken-dp-sgd-shuffled-as-poisson": "mechanisms.broken.dp_sgd.counting:ShuffledCountedAsPoisson",
        "broken-dp-sgd-micro-steps": "mechanisms.broken.dp_sgd.counting:MicroStepsCounted",
    },
)
get = catalogue.get
build = catalogue.build
