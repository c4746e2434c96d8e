"""Extraction, exposure and the secret sharer."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dpassay.attacks.literature.extraction import (
    Extraction,
    SecretSharer,
    TextSampling,
    canary_ranks,
    exposure,
    extrapolated_exposure,
)
from dpassay.attacks.literature.extraction.extract import EXTRACTION_SIGNALS, scores
from dpassay.attacks.literature.extraction.secret_sharer import max_first_rank_probability, ranks
from dpassay.attacks.membership.memorization import exposure_of_rank, mean_exposure_without
from dpassay.attacks.reconstruction.base import FairBits, OneOf, SecretTarget
from dpassay.audit.bounds.reconstruction import Reconstruction
from dpassay.audit.evidence.scores import Successes
from dpassay.audit.evidence.statement import Statement
from dpassay.audit.games.reconstruction import reconstruction_game
from dpassay.experiments.data.mails import mails
from dpassay.mechanisms.accounting import GaussianDP, PureDP
from dpassay.mechanisms.core import AttackError, ParameterError, UnknownNameError
from dpassay.mechanisms.literature.ngrams import Alphabet, NGramCounts, NGramModel
from dpassay.mechanisms.noise.laplace import Laplace

FALSE_ALARM = 1e-6
CODES = [f"{code:06d}" for code in np.random.default_rng(7).integers(10**6, size=12)]
PLANTED = [f"Hi Ada, the code of my door is {code}. Ben\n" for code in CODES]


@pytest.fixture(scope="module")
def models():
    """Of mails with the codes, of the same mails without them, and of others."""
    base, others = mails(n=400, seed=1).tolist(), mails(n=400, seed=2).tolist()
    lower = [text.lower() for text in base + PLANTED]
    alphabet = Alphabet.of(base + others + PLANTED + lower)
    return tuple(NGramModel.fit(texts, 6, alphabet) for texts in (base + PLANTED, base, others))


class TestGeneration:
    def test_samples_have_the_probabilities_of_the_model(self):
        model = NGramModel.fit(["abbab", "baab", "aabb"], 3, Alphabet("ab"), smoothing=0.5)
        every = ["".join(symbols) for symbols in product("ab", repeat=4)]
        size = 40_000
        drawn = TextSampling(4).texts(model, size, np.random.default_rng(0))
        counts = [drawn.count(text) for text in every]
        expected = size * np.exp(model.log_probability(every))
        assert expected.sum() == pytest.approx(size)
        assert stats.chisquare(counts, expected).pvalue > FALSE_ALARM

    def test_top_k_and_temperature_change_the_weights_as_they_say(self):
        p = np.array([[0.5, 0.3, 0.2]])
        assert TextSampling(2, top_k=2).weights(p)[0] == pytest.approx([1.0, 0.6, 0.0])
        assert TextSampling(2, temperature=0.5).weights(p)[0] == pytest.approx([1.0, 0.36, 0.16])
        model = NGramModel.fit(["abbab", "aabb"], 3, Alphabet("ab"))
        (greedy,) = set(TextSampling(6, top_k=1).texts(model, 5, np.random.default_rng(1), prompt="a"))
        for i in range(1, 6):
            assert model.conditional(greedy[:i], ["a", "b"]).argmax() == "ab".index(greedy[i])

    def test_a_prompt_that_fills_the_text_is_refused(self):
        model = NGramModel.fit(["abab"], 2)
        with pytest.raises(ParameterError, match="larger than the prompt"):
            TextSampling(2).texts(model, 1, np.random.default_rng(0), prompt="ab")


class TestSignals:
    def test_signals_are_their_formulas(self, models):
        model, _, other = models
        text = PLANTED[0]
        log_p = model.log_probabilities([text])[0]
        assert scores("perplexity", model, [text])[0] == pytest.approx(log_p.mean())
        assert scores("reference", model, [text], other)[0] == pytest.approx(
            log_p.mean() - other.log_probabilities([text])[0].mean()
        )
        assert scores("lower-case", model, [text])[0] == pytest.approx(
            log_p.mean() - model.log_probabilities([text.lower()])[0].mean()
        )
        windows = [log_p[i : i + 10].mean() for i in range(len(text) - 9)]
        assert scores("window", model, [text, "Hi Ada"])[0] == pytest.approx(max(windows))
        import zlib

        bits = 8 * len(zlib.compress(text.encode()))
        assert scores("zlib", model, [text])[0] == pytest.approx(bits / (-log_p.sum() / math.log(2)))

    @pytest.mark.parametrize("name", ["reference", "zlib", "lower-case"])
    def test_memorised_texts_score_higher_than_others(self, models, name):
        unseen = [f"Hi Ada, the code of my door is {code:06d}. Ben\n" for code in range(111111, 999999, 80808)]
        seen, not_seen = (scores(name, models[0], texts, models[2]) for texts in (PLANTED, unseen))
        assert seen.min() > not_seen.max() if name == "reference" else seen.mean() > not_seen.mean()

    def test_invalid_input_is_refused(self, models):
        with pytest.raises(UnknownNameError, match="unknown signal"):
            scores("loss", models[0], ["Hi"])
        for arguments, argument in (
            (("reference", models[0], ["Hi"]), "reference"),
            (("zlib", models[0], []), "texts"),
        ):
            with pytest.raises(ParameterError) as caught:
                scores(*arguments)
            assert caught.value.argument == argument
        with pytest.raises(ParameterError, match="lower-case letters"):
            scores("lower-case", NGramModel.fit(["ABAB"], 2), ["AB"])
        assert set(EXTRACTION_SIGNALS) == {"perplexity", "reference", "lower-case", "zlib", "window"}


class TestExtraction:
    def test_codes_are_extracted_only_from_the_model_trained_on_them(self, models):
        attack = Extraction(TextSampling(45), n_texts=100, keep=30, rounds=5, stop="\n")
        result, without = (attack.run(m, np.random.default_rng(1), reference=models[2]) for m in models[:2])
        assert result.holds(CODES).mean() > 0.5
        assert not without.holds(CODES).any()
        assert (np.diff(result.scores) <= 0).all()
        assert result.n_written == 100 * result.n_rounds <= 500

    def test_it_ends_when_the_best_stay(self):
        model = NGramModel.fit(["abababababab"], 3, smoothing=1e-6)
        result = Extraction(TextSampling(6), n_texts=50, keep=2, signal="perplexity").run(
            model, np.random.default_rng(0)
        )
        assert result.settled
        assert result.n_rounds < 10
        assert set(result.texts) == {"ababab", "bababa"}

    def test_invalid_input_is_refused(self, models):
        with pytest.raises(ParameterError, match="stop must not end every text"):
            Extraction(TextSampling(4), n_texts=3, stop="H", prompt="Hi").run(
                models[0], np.random.default_rng(0), reference=models[2]
            )
        result = Extraction(TextSampling(4), n_texts=3, signal="zlib", rounds=1).run(
            models[0], np.random.default_rng(0)
        )
        for wrong in ([], [""], "abc"):
            with pytest.raises(ParameterError, match="secrets must be"):
                result.holds(wrong)


class TestExposure:
    def test_exposure_of_known_and_of_uniform_ranks(self):
        assert exposure_of_rank(1, 1024) == 10.0
        for size in (1, 7, 1024):
            mean = exposure_of_rank(np.arange(1, size + 1), size).mean()
            assert mean_exposure_without(size) == pytest.approx(mean, abs=1e-12)
        assert mean_exposure_without(10**12) == pytest.approx(1 / math.log(2), abs=1e-9)

    def test_ranks_count_candidates_at_least_as_likely(self):
        assert ranks([3.0, 5.0, 3.0, 1.0], 0) == 3
        assert ranks([[0.0, 1.0], [1.0, 0.0]], [1, 1]).tolist() == [1, 2]

    def test_a_planted_canary_is_first_among_all_candidates(self, models):
        candidates = [f"the code of my door is 47{i:02d}11." for i in range(64)]
        canary = candidates[19]
        with_it = NGramModel.fit([*mails(n=50).tolist(), canary], 6, models[1].alphabet)
        assert exposure(with_it, candidates, canary) == 6.0
        # never inserted: the rank is uniform over canaries drawn at random
        result = [float(exposure(models[1], candidates, candidates[i])) for i in range(0, 64, 4)]
        assert np.mean(result) < 4.0

    def test_a_skew_normal_law_goes_on_where_samples_end(self):
        rng = np.random.default_rng(0)
        law = stats.skewnorm(3.0, -50.0, 4.0)
        samples, canary = law.rvs(4_000, random_state=rng), law.isf(2.0**-14)
        result = extrapolated_exposure(canary, samples)
        assert result.sampled >= 10.0
        assert result.limit == pytest.approx(math.log2(4_001))
        assert result.value == pytest.approx(14.0, abs=1.0)
        assert result.label.startswith("no coverage: ")
        middle = extrapolated_exposure(float(np.median(samples)), samples)
        assert middle.value == pytest.approx(1.0, abs=0.1)
        assert middle.sampled == pytest.approx(1.0, abs=0.01)

    def test_the_ceiling_of_pure_guarantees_is_the_known_formula(self):
        for epsilon, size in product((0.1, 1.0, 4.0), (2, 10, 1024)):
            known = math.exp(epsilon) / (math.exp(epsilon) + size - 1)
            assert max_first_rank_probability(PureDP(epsilon), size) == pytest.approx(known, rel=1e-9)
        assert 0.1 < max_first_rank_probability(GaussianDP(1.0), 10) < 0.5
        assert max_first_rank_probability(PureDP(0.0), 10) == pytest.approx(0.1)

    @pytest.mark.parametrize(
        ("make", "argument"),
        [
            (lambda: exposure_of_rank(0, 4), "rank"),
            (lambda: ranks([], 0), "candidates"),
            (lambda: exposure(NGramModel.fit(["abab"], 2), ["ab"], "ba"), "canary"),
            (lambda: extrapolated_exposure(0.0, np.zeros(100)), "samples"),
            (lambda: extrapolated_exposure(0.0, [1.0, 2.0]), "samples"),
        ],
    )
    def test_invalid_input_is_refused(self, make, argument):
        with pytest.raises(ParameterError) as caught:
            make()
        assert caught.value.argument == argument


WORDS = ("code", "is", "red", "blue", "green", "grey", "pink", "gold")
COLOURS = [f"code is {one} {two}" for one, two in product(WORDS[2:], repeat=2)]


def target(epsilon, relation="replace_one", candidates=COLOURS, **options):
    mechanism = NGramCounts(epsilon, n=2, alphabet=WORDS, contribution=3, relation=relation, **options)
    return SecretTarget(mechanism, OneOf.in_record(["code is", "is code", ""], 2, candidates))


class TestSecretSharer:
    def test_only_a_model_without_noise_exceeds_the_ceiling(self):
        size, n_rounds = len(COLOURS), 3_000
        firsts = {}
        for epsilon in (2.0, 400.0):
            result = canary_ranks(target(epsilon), n_rounds, np.random.default_rng(1))
            firsts[epsilon] = int((result == 1).sum())
        ceiling = max_first_rank_probability(PureDP(2.0), size)
        assert stats.binomtest(firsts[2.0], n_rounds, ceiling, alternative="greater").pvalue > FALSE_ALARM
        assert firsts[2.0] > n_rounds / size * 1.3  # and it is an attack
        assert stats.binomtest(firsts[400.0], n_rounds, ceiling, alternative="greater").pvalue < FALSE_ALARM
        assert firsts[400.0] == n_rounds

    def test_ranks_within_r_exceed_the_claim_only_without_noise(self):
        bound, statement = Reconstruction(candidates=len(COLOURS)), Statement(PureDP(2.0, "replace_one"), delta=0.0)
        fixed = bound.fix(statement, None, (2_000,))
        shown = {}
        for epsilon in (2.0, 400.0):
            result = canary_ranks(target(epsilon), 2_000, np.random.default_rng(2))
            successes = Successes(int((result <= 4).sum()), 2_000, 4 / len(COLOURS))
            shown[epsilon] = fixed.lower_bound(successes).epsilon
        assert 0.0 < shown[2.0] <= 2.0 < shown[400.0]

    def test_the_guess_is_the_first_of_the_ranking(self):
        one = target(5.0)
        outputs = one.mechanism.release(one.secret.candidates[3], 200, np.random.default_rng(0))
        guesses = SecretSharer().fit(one, np.random.default_rng(0)).guess(outputs)
        result = SecretSharer().ranker(one).scores(outputs)
        assert guesses.tolist() == result.argmax(axis=1).tolist()
        assert result.shape == (200, len(COLOURS))

    def test_a_canary_that_is_cut_off_by_the_contribution_has_a_uniform_rank(self):
        long = [f"red red red red red red {text}" for text in COLOURS]
        result = canary_ranks(target(400.0, candidates=long), 3_000, np.random.default_rng(3))
        first = int((result == 1).sum())
        assert stats.binomtest(first, 3_000, 1 / len(COLOURS), alternative="greater").pvalue > FALSE_ALARM

    def test_secret_sharer_is_at_most_as_successful_as_maximum_likelihood(self):
        one = target(4.0)
        result = {
            name: reconstruction_game(one.mechanism, one.secret, attack=name, n_rounds=2_000, seed=4)
            for name in ("secret-sharer", "maximum-likelihood")
        }
        rates = {name: successes.n_success / 2_000 for name, successes in result.items()}
        limit = max_first_rank_probability(one.mechanism.guarantee(), len(COLOURS))
        spread = math.sqrt(2 * 0.1 * 0.9 / 2_000)
        assert 2 / len(COLOURS) < rates["secret-sharer"] < rates["maximum-likelihood"] + 5 * spread
        assert rates["maximum-likelihood"] < limit
        assert result["secret-sharer"].prior_success == pytest.approx(1 / len(COLOURS))

    def test_unusable_targets_are_refused_with_the_reason(self):
        attack, texts = SecretSharer(), ["red blue", ""]
        counts = NGramCounts(1.0, n=2, alphabet=WORDS)
        for wrong, message in (
            (SecretTarget(Laplace(1.0), OneOf((0, 1))), "NGramCounts"),
            (SecretTarget(counts, FairBits.column(3)), "FairBits"),
            (SecretTarget(counts, OneOf((texts, texts[::-1]))), "known record"),
            (SecretTarget(counts, OneOf.in_record(texts, 1, ["red", ""])), "empty"),
        ):
            with pytest.raises(AttackError, match=message):
                attack.fit(wrong, np.random.default_rng(0))
        uneven = OneOf.in_record(texts, 1, ["red blue", "blue red"], prior=[0.9, 0.1])
        with pytest.raises(AttackError, match="equally probable"):
            canary_ranks(SecretTarget(counts, uneven), 10, np.random.default_rng(0))
