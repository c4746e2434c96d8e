"""Names of the models. A new one is one file and one line here."""

from mechanisms.registry import Catalogue

catalogue = Catalogue(
    "model",
    {
        "linear-regression": "mechanisms.learning.models.linear:LinearRegression",
        "logistic-regression": "mechanisms.learning.models.linear:LogisticRegression",
        "softmax-regression": "mechanisms.learning.models.linear:SoftmaxRegression",
        "multilayer-perceptron": "mechanisms.learning.models.perceptron:MultiLayerPerceptron",
    },
)
get = catalogue.get
build = catalogue.build
