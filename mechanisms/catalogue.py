"""Names of the mechanisms. A new one is one file and one line here; `dpassay list mechanisms` shows them."""

from .registry import Catalogue

catalogue = Catalogue(
    "mechanism",
    {
        "laplace": "dpassay.mechanisms.noise.laplace:Laplace",
        "gaussian": "dpassay.mechanisms.noise.gaussian:Gaussian",
        "geometric": "dpassay.mechanisms.noise.geometric:Geometric",
        "exponential": "dpassay.mechanisms.selection.exponential:Exponential",
        "randomized-response": "dpassay.mechanisms.local.randomized_response:RandomizedResponse",
        "k-ary-randomized-response": "dpassay.mechanisms.local.k_ary:KAryRandomizedResponse",
        "unary-encoding": "dpassay.mechanisms.local.unary_encoding:UnaryEncoding",
        "local-hashing": "dpassay.mechanisms.local.hashing:LocalHashing",
        "subset-selection": "dpassay.mechanisms.local.subset_selection:SubsetSelection",
        "hadamard-response": "dpassay.mechanisms.local.hadamard:HadamardResponse",
        "one-time-rappor": "dpassay.mechanisms.local.rappor:OneTimeRAPPOR",
        "rappor": "dpassay.mechanisms.local.rappor:RAPPOR",
        "shuffled": "dpassay.mechanisms.shuffle.shuffled:Shuffled",
        "output-perturbation": "dpassay.mechanisms.learning.convex.output_perturbation:OutputPerturbation",
        "objective-perturbation": "dpassay.mechanisms.learning.convex.objective_perturbation:ObjectivePerturbation",
        "noisy-projected-sgd": "dpassay.mechanisms.learning.convex.projected_sgd:NoisyProjectedSGD",
        "repeated": "dpassay.mechanisms.repeated:Repeated",
        "dp-sgd": "dpassay.mechanisms.learning.dp_sgd.mechanism:DPSGD",
        "broken-laplace-scale": "dpassay.mechanisms.broken.laplace_scale:LaplaceInverseScale",
        "broken-laplace-sensitivity": "dpassay.mechanisms.broken.laplace_sensitivity:LaplaceForgottenSensitivity",
        "broken-randomized-response": "dpassay.mechanisms.broken.biased_coin:BiasedCoinResponse",
        "broken-dp-sgd-mean-clipped": "dpassay.mechanisms.broken.dp_sgd.mean_clipped:MeanClipped",
        "broken-dp-sgd-microbatch-mean-clipped": "dpassay.mechanisms.broken.dp_sgd.mean_clipped:MicrobatchMeanClipped",
        "broken-dp-sgd-noise-on-average": "dpassay.mechanisms.broken.dp_sgd.mean_clipped:NoiseOnAverage",
        "broken-dp-sgd-layers-clipped-apart": "dpassay.mechanisms.broken.dp_sgd.layers:PerLayerFullClip",
        "broken-dp-sgd-layer-not-clipped": "dpassay.mechanisms.broken.dp_sgd.layers:LayerNotClipped",
        "broken-dp-sgd-raw-mean-mixed-in": "dpassay.mechanisms.broken.dp_sgd.raw_mean:RawMeanMixedIn",
        "broken-dp-sgd-noise-divided-twice": "dpassay.mechanisms.broken.dp_sgd.noise_scale:NoiseDividedTwice",
        "broken-dp-sgd-noise-of-sum-on-mean": "dpassay.mechanisms.broken.dp_sgd.noise_scale:NoiseOfSumOnMean",
        "broken-dp-sgd-noise-reused-in-steps": "dpassay.mechanisms.broken.dp_sgd.stale_noise:NoiseReusedInSteps",
        "broken-dp-sgd-noise-reused-in-layers": "dpassay.mechanisms.broken.dp_sgd.stale_noise:NoiseReusedInLayers",
        "broken-dp-sgd-noise-of-fixed-seed": "dpassay.mechanisms.broken.dp_sgd.stale_noise:NoiseOfFixedSeed",
        "broken-dp-sgd-bias-without-noise": "dpassay.mechanisms.broken.dp_sgd.partial_noise:BiasWithoutNoise",
        "broken-dp-sgd-noise-after-momentum": "dpassay.mechanisms.broken.dp_sgd.partial_noise:NoiseAfterMomentum",
        "broken-dp-sgd-expected-batch-size-of-data": "dpassay.mechanisms.broken.dp_sgd.divisor:ExpectedBatchSizeOfData",
        "broken-dp-sgd-realised-batch-size": "dpassay.mechanisms.broken.dp_sgd.divisor:RealisedBatchSize",
        "broken-dp-sgd-shuffled-as-poisson": "dpassay.mechanisms.broken.dp_sgd.counting:ShuffledCountedAsPoisson",
        "broken-dp-sgd-micro-steps": "dpassay.mechanisms.broken.dp_sgd.counting:MicroStepsCounted",
    },
)
get = catalogue.get
build = catalogue.build
