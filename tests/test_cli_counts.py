"""`theory counts`: every kind of log, what is printed and written, and what is refused."""

import re

import numpy as np
import pandas as pd
import pytest

from tests.commands import run
from theory import counts
from theory.counts import Counts

HISTOGRAM = "25,25,22,9,39"


def words(out):
    return " ".join(re.sub("[│┃]", " ", out).split())


def shown(capsys, *arguments):
    code, out, err = run(capsys, "counts", *arguments)
    assert (code, err) == (0, "")
    return words(out)


@pytest.fixture
def log(tmp_path):
    rng = np.random.default_rng(6)
    table = pd.DataFrame({"request": np.repeat(["a", "b", "c"], 30), "drafted": 4, "accepted": rng.integers(0, 5, 90)})
    table.to_csv(tmp_path / "steps.csv", index=False)
    table.to_json(tmp_path / "steps.jsonl", orient="records", lines=True)
    return tmp_path


def test_the_published_mean(capsys):
    out = shown(capsys, "--length", "2.6", "--drafted", "3", "--gamma", "2")
    assert "1 0.7171 1.0000 0.5333 0.5333 .. 1.0000" in out
    assert "2 0.7171 0.6000 1.0000 0.3000 .. 1.0000" in out
    assert "3 0.7171 0.0000 1.0000 0.0000 .. 1.0000" in out
    assert "2 constant 1.2313 - - 2.2313 1.0667 .. 1.6000" in out
    assert "An interval is not known: a mean length at 3 drafted tokens does not say over how many steps." in out
    assert shown(capsys, "--accepted-length", "8/5", "--drafted", "3", "--gamma", "2") == out


def test_totals(capsys):
    out = shown(capsys, "--totals", "120,480,301", "--drafted", "4")
    low, high = counts.interval(counts.mean_accepted, Counts.from_totals(drafts=120, drafted=480, accepted=301, gamma=4))[1:3]
    assert f"E[τ]: drafted tokens kept a call 2.5083 {low:.4f} {high:.4f}" in out
    assert "conditional rate: accepted / judged - - -" in out
    assert "if each drafted" not in out
    assert "if each drafted 4" in shown(capsys, "--totals", "120,480,301")
    uneven = shown(capsys, "--totals", "120,470,301")
    assert "acceptance rate: accepted / drafted 0.6404 - -" in uneven
    assert "no multiple of drafts = 120" in uneven


def test_positions_and_a_histogram_are_the_same_log(capsys):
    by_position = shown(capsys, "--positions", "120:95,70,48,39", "--gamma", "2")
    assert by_position == shown(capsys, "--histogram", HISTOGRAM, "--gamma", "2")
    assert "1 95 120 0.7917 0.7080 0.8604 0.7917 0.7080 0.8604" in by_position
    assert "2 observed 1.3750" in by_position
    assert "Steps of one request are not independent" in by_position


def test_a_file(capsys, log):
    from_csv, from_json = (shown(capsys, log / name, "--gamma", "6") for name in ("steps.csv", "steps.jsonl"))
    assert from_csv == from_json
    assert from_csv.startswith("90 steps of 3 requests, each with 4 drafted tokens")
    assert "bootstrap over 3 requests" in from_csv
    assert "Steps of one request" not in from_csv
    assert from_csv.count("acceptance rate: accepted / drafted") == 2
    over_steps = shown(capsys, log / "steps.csv", "--over", "steps", "--confidence", "0.9", "--seed", "3")
    assert "bootstrap over 90 steps as if independent, 90%" in over_steps
    (log / "bare.csv").write_text("accepted\n3\n0\n")
    assert shown(capsys, log / "bare.csv", "--drafted", "4").startswith("2 steps, each with 4 drafted tokens")
    (log / "none.csv").write_text("accepted,drafted\n0,0\n")
    assert "needs a proposed token" in shown(capsys, log / "none.csv")


def test_the_tables_that_are_written_and_the_picture(capsys, tmp_path):
    files = tmp_path / "counts.csv", tmp_path / "positions.png"
    shown(capsys, "--histogram", HISTOGRAM, "--gamma", "2", "--gamma", "8", "--csv", files[0], "--plot", files[1])
    table = pd.read_csv(files[0])
    logged = Counts.from_histogram([25, 25, 22, 9, 39])
    assert table["quantity"].value_counts().to_dict() == {
        "acceptance_rate": 1,
        "conditional_acceptance_rate": 1,
        "mean_accepted": 1 + 1 + 3,
        "block_efficiency": 1,
        "conditional_rate": 4,
        "unconditional_rate": 4,
    }
    estimates, rates, predicted = counts.estimates(logged), counts.position_intervals(logged), counts.predict(logged, [2, 8])
    for part, of in (
        (table[table["position"].isna() & table["gamma"].isna()], estimates[["value", "low", "high"]]),
        (table[table["quantity"] == "conditional_rate"], rates[["conditional", "conditional_low", "conditional_high"]]),
        (table[table["gamma"].notna()], predicted[["mean_accepted", "mean_accepted_low", "mean_accepted_high"]]),
    ):
        np.testing.assert_allclose(part[["value", "low", "high"]].to_numpy(), of.to_numpy(dtype=float))
    assert files[1].stat().st_size > 10_000


def test_the_back_test(capsys, tmp_path):
    path = tmp_path / "errors.csv"
    out = shown(capsys, "--backtest", "strict", "--backtest", "cos:0.5", "--csv", path)
    table = counts.backtest(["strict", "cos:0.5"])
    for row in table.to_dict("records"):
        numbers = f"{row['predicted']:.4f} {row['true']:.4f} {row['error']:+.4f}"
        assert f"{row['verifier']} {row['gamma']} {row['model'].replace('_', ' ')} {numbers}" in out
    pd.testing.assert_frame_equal(pd.read_csv(path), table)
    assert "known at γ = 2" in shown(capsys, "--backtest", "strict", "--drafted", "2", "--gamma", "4")


@pytest.mark.parametrize("width", [80, 140])
def test_numbers_are_whole_at_any_width(width, capsys, monkeypatch, log):
    monkeypatch.setenv("COLUMNS", str(width))
    for arguments in ((log / "steps.csv", "--gamma", "9"), ("--totals", "120,480,301", "--gamma", "9")):
        code, out, _ = run(capsys, "counts", *arguments)
        assert code == 0
        assert max(map(len, out.splitlines())) <= width
        assert not re.search(r"\d\.\d{1,3}(?!\d)", re.sub(r"\D\.\.\D", "", out).replace("95%", "")), out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give one of a FILE, --totals, --positions, --histogram, --length, --accepted-length or --backtest; 0 are given"),
        (["--totals", "1,2,1", "--histogram", "1,2"], "give one of a FILE"),
        (["x.csv", "--length", "2"], "give one of a FILE"),
        (["x.csv"], "x.csv"),
        (["x.txt"], "x.txt: has the suffix '.txt'"),
        (["--totals", "120,480"], "--totals 120,480: must be 3 whole numbers, there are 2"),
        (["--totals", "120,480,3e2"], "--totals 120,480,3e2: '3e2' must be a whole number"),
        (["--totals", "120,480,-1"], "--totals 120,480,-1: '-1' must be a whole number"),
        (["--totals", "120,301,480"], "accepted = 480: must be at most 301"),
        (["--totals", "120,470,301", "--drafted", "4"], "drafted = 470: must be 480"),
        (["--totals", "120,470,301", "--gamma", "4"], "drafted = 470: is no multiple"),
        (
            ["--totals", "120,480,301", "--plot", "a.png"],
            "--plot a.png: rates by position cannot be drawn of the totals of 120 steps",
        ),
        (["--totals", "120,480,301", "--over", "requests"], "over = 'requests': which request a step was of is not known"),
        (["--positions", "120"], "--positions 120: must be steps, a colon, and how many accepted each position"),
        (["--positions", "120,3:95"], "--positions 120,3: must be 1 whole number, there are 2"),
        (["--positions", "120:95,"], "--positions 95,: '' must be a whole number"),
        (["--positions", "120:80,90"], "accepted[1] = 90: must be in 0..80"),
        (["--positions", "120:80", "--drafted", "1"], "--drafted 1: --positions and --histogram say it themselves"),
        (["--histogram", "3"], "steps has 1 entries"),
        (["--length", "2.6"], "--length 2.6: needs --drafted"),
        (["--length", "two", "--drafted", "3"], "--length two: must be a number, as 2.6 or 13/5"),
        (["--length", "1/0", "--drafted", "3"], "--length 1/0: must be a number"),
        (["--length", "0.6", "--drafted", "3"], "tokens_per_call = Fraction(3, 5): must be a number in [1, 4]"),
        (["--accepted-length", "3.6", "--drafted", "3"], "mean_accepted = Fraction(18, 5): must be a number in [0, 3]"),
        (["--length", "2.6", "--drafted", "3", "--steps", "0"], "steps = 0"),
        (["--totals", "1,2,1", "--steps", "3"], "--steps 3: belongs to --length and --accepted-length"),
        (["--histogram", "1,2", "--gamma", "0"], "gammas[0] = 0"),
        (["--histogram", "1,2", "--confidence", "95"], "confidence = 95"),
        (["--histogram", "1,2", "--seed", "-1"], "seed = -1"),
        (["--histogram", "1,2", "--over", "tokens"], "over = 'tokens': must be one of steps, requests"),
        (["--histogram", "1,2", "--csv", "no/such.csv"], "--csv no/such.csv: there is no folder no"),
        (["--backtest", "strict", "--plot", "a.png"], "--plot a.png: is not for --backtest"),
        (["--backtest", "strict", "--over", "steps"], "--over steps: is not for --backtest"),
        (["--backtest", "strict", "--steps", "5"], "--steps 5: is not for --backtest"),
        (["--backtest", "nothing"], "no verifier is called 'nothing'"),
        (["--backtest", "strict", "--gamma", "65"], "gamma = 65: must be at most 64"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "counts", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("theory: ")
    assert message in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())
