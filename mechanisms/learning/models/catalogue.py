"""Names of the models: add a new model as one file and one line in this catalogue."""

from ...core.registry import Catalogue

catalogue = Catalogue(
    "model",
    {
        "linear-regression": "dpassay.mechanisms.learning.models.linear:LinearRegression",
        "logistic-regression": "dpassay.mechanisms.learning.models.linear:LogisticRegression",
        "softmax-regression": "dpassay.mechanisms.learning.models.linear:SoftmaxRegression",
        "multilayer-perceptron": "dpassay.mechanisms.learning.models.perceptron:MultiLayerPerceptron",
    },
)
get = catalogue.get
build = catalogue.build
