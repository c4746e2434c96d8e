"""Six pipelines: the leaking ones are refuted with 500 questions, the claims of noisy ones are not."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from dpassay import Coins, GaussianDP, PureDP, Verdict
from dpassay.attacks.canaries import secret_documents
from dpassay.audit.metrics import audit_assistant
from dpassay.experiments.literature.assistants import (
    Memory,
    NoisyRelevance,
    NoisyVotes,
    Retrieval,
    ThresholdRetrieval,
    TwoAgents,
)

WORDS = [f"word{i}" for i in range(16)]


def remembering(*, private):
    def build(documents):
        memory = Memory(private=private)
        for i, document in enumerate(documents):
            assert memory.ask(f"Remember: {document}", account=f"owner {i}") == "I will."
        return memory

    return build


def audited(build, *, n=500, **options):
    canaries = secret_documents(n, seed=0)
    coins = Coins.toss(canaries.units, seed=1)
    return audit_assistant(build(canaries.texts(coins.included_ids)), canaries, coins, claim=PureDP(1.0), **options)


@pytest.mark.parametrize("build", [Retrieval, ThresholdRetrieval, remembering(private=False), TwoAgents])
def test_a_leaking_pipeline_has_a_bound_of_3_with_500_questions(build):
    result = audited(build, budget=500)
    assert result.verdict is Verdict.VIOLATION
    assert result.bound.epsilon >= 3.0


def test_two_agents_are_found_by_other_words_since_they_answer_no_secret():
    assert audited(TwoAgents, n=400).attack == "overlap of the answers"
    assert audited(TwoAgents, n=400, signal="verbatim").bound.epsilon == 0.0


def test_a_memory_for_each_account_shows_nothing_to_others():
    assert audited(remembering(private=True), n=300, accounts=2).bound.epsilon == 0.0


def test_words_of_noisy_votes_have_the_stated_probabilities():
    pipeline = NoisyVotes(["The key of Ada is word3."], WORDS, epsilon=2.0, reads=800, seed=0)
    answers = [pipeline.ask("What is the key of Ada?") for _ in range(800)]
    rate = np.e**2 / (np.e**2 + 15)
    assert stats.binomtest(answers.count("word3"), 800, rate).pvalue > 1e-6
    unread = [pipeline.ask("What is the key of Ada?") for _ in range(800)]
    assert stats.binomtest(unread.count("word3"), 800, 1 / 16).pvalue > 1e-6, "it has taken part 800 times"


def test_the_claim_of_noisy_votes_is_not_refuted_and_a_budget_for_each_account_is():
    canaries = secret_documents(500, seed=0, vocabulary=WORDS, n_tokens=1)
    verdicts = []
    for by_account in (False, True):
        coins = Coins.toss(canaries.units, seed=int(by_account))
        documents = canaries.texts(coins.included_ids)
        pipeline = NoisyVotes(documents, WORDS, epsilon=2.0, budget_by_account=by_account, seed=1)
        result = audit_assistant(pipeline, canaries, coins, claim=PureDP(2.0), accounts=6, signal="verbatim")
        verdicts.append(result.verdict)
    assert verdicts == [Verdict.CONSISTENT, Verdict.VIOLATION]


@pytest.mark.parametrize("accounts", [1, 4])
def test_auc_of_noisy_relevance_grows_with_the_root_of_the_accounts(accounts):
    canaries = secret_documents(1_000, seed=0)
    coins = Coins.toss(canaries.units, seed=accounts)
    pipeline = NoisyRelevance(canaries.texts(coins.included_ids), sigma=2.0, seed=accounts)
    questions = [one.questions[0] for one in canaries.documents]
    stated = [[pipeline.ask(q, f"account {i}")["log_probability"] for q in questions] for i in range(accounts)]
    expected = stats.norm.cdf(np.sqrt(accounts / 2) / 2.0)
    assert roc_auc_score(coins.included, np.mean(stated, axis=0)) == pytest.approx(
        expected, abs=3 * 0.018
    )  # three standard errors


def test_twelve_accounts_refute_the_claim_for_one_and_not_the_claim_for_twelve(tmp_path):
    canaries = secret_documents(500, seed=0)
    coins = Coins.toss(canaries.units, seed=3)
    pipeline = NoisyRelevance(canaries.texts(coins.included_ids), sigma=1.0, seed=3)
    options = {"delta": 1e-5, "accounts": 12, "signal": "probability", "answers": tmp_path / "answers.jsonl"}
    one, twelve = (
        audit_assistant(pipeline, canaries, coins, claim=GaussianDP(mu), **options).verdict for mu in (1.0, 12**0.5)
    )
    assert one is Verdict.VIOLATION
    assert twelve is not Verdict.VIOLATION


def test_a_document_is_read_once_by_each_account():
    pipeline = NoisyRelevance(["The key of Ada is word3."], sigma=1e-6, seed=0)
    said = [pipeline.ask("What is the key of Ada?", account) for account in ("a", "a", "b")]
    assert [one["log_probability"] for one in said] == pytest.approx([0.0, -1.0, 0.0], abs=1e-4)
    assert [one["answer"] == "A record was found." for one in said] == [True, False, True]
