"""What ranks leave for one another and for the launcher: who tells the error, who says a line, who waits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time

import pytest

from explainer.api import Explanation
from explainer.diagnosis import Diagnosis, Report
from explainer.hooks import job, launcher, ranks
from explainer.transfer import sent

pytest.importorskip("torch.distributed")


def recorded(folder, rank, **more):
    """A record in a job's folder as a rank leaves it, of this process."""
    alike = {"same": ["KeyError", "a.py:1"], "place": "a.py:1", "call": None, "process": os.getpid()}
    one = {"rank": rank, "world": 2, "time": 1.0, "lost": False, "folder": str(folder), **alike, **more}
    (folder / f"rank-{rank}.json").write_text(json.dumps(one))
    return one


def test_of_two_ranks_that_fail_in_one_moment_one_tells_whatever_their_clocks_say(tmp_path, monkeypatch):
    """The one that was held up between its error and its record sees no other record, and is not the first."""
    told = {"folder": str(tmp_path), "process": 11, "rank": 0, "time": time.time()}
    assert job.entered(told) == []
    seen, everyone = [[]], job.others  # it looked before the other one wrote
    monkeypatch.setattr(job, "others", lambda record: seen.pop() if seen else everyone(record))
    held_up = {**told, "process": 12, "rank": 1, "time": told["time"] - 0.01}
    assert [one["rank"] for one in job.entered(held_up)] == [0]


def test_ranks_that_fail_alike_are_one_report():
    first = {"rank": 0, "time": 1.0, "lost": False, "same": ["E", "a.py:1"], "place": "a.py:1", "call": None}
    again = {**first, "rank": 3, "time": 2.0}
    assert ranks.first_of([again, first]) is first
    assert ranks.relation(again, first, "en") == "rank 3 failed in the same way as rank 0"
    other = {**again, "same": ["E", "b.py:2"], "lost": True}
    assert ranks.relation({**other, "lost": False}, first, "en") == ""
    assert "rank 0 failed first" in ranks.relation(other, first, "en")
    assert "in the same way" in ranks.relation(other, {**first, "lost": True}, "en"), (
        "nobody is known to have failed first"
    )


def test_of_many_ranks_those_that_are_alike_share_a_line(tmp_path, monkeypatch):
    monkeypatch.setenv(job.FOLDER, str(tmp_path))
    report = sent(Report("KeyError", "'a'"))
    recorded(tmp_path, 1, report=report)
    for rank in (0, 2, 3):
        recorded(tmp_path, rank, lost=True, same=["RuntimeError", "b.py:2"], place="b.py:2")
    for rank in (4, 5):
        recorded(tmp_path, rank, time=2.0, same=["IndexError", "c.py:3"], report=sent(Report("IndexError", "far")))
    error = type("ChildFailedError", (Exception,), {})()
    own, other = launcher.joined(error, Explanation((Report("ChildFailedError", "m"),))).reports
    assert own.remarks[1:] == ("ranks 0, 2, 3, at b.py:2, only lost the others: rank 1 failed first, at a.py:1",)
    assert (other.type, other.remarks) == ("IndexError", ("rank 5 failed in the same way as rank 4",))


def test_ranks_in_different_collectives_are_the_cause_once_however_many_they_are(tmp_path, monkeypatch):
    """Each fails with what its own transport says of the others, which it does not say as one that lost them."""
    monkeypatch.setenv(job.FOLDER, str(tmp_path))
    told = sent(Report("RuntimeError", "no connection", diagnoses=(Diagnosis("rule", "d", "headline", "cause"),)))
    for rank in range(4):
        call = {"op": "broadcast" if rank == 1 else "all_reduce", "tensors": "tensor [4] float32", "place": "a.py:1"}
        recorded(tmp_path, rank, call=call, place=f"a.py:{rank}", same=["RuntimeError", f"a.py:{rank}"], report=told)
        (tmp_path / f"rank-{rank}.call").write_text(json.dumps({**call, "group": "0", "turn": 1}))
    error = type("ChildFailedError", (Exception,), {})()
    (own, *others) = launcher.joined(error, Explanation((Report("ChildFailedError", "m"),))).reports
    assert own.diagnoses[0].headline == "the ranks were not in the same collective"
    assert "ranks 0, 2, 3 were in all_reduce(tensor [4] float32)" in own.diagnoses[0].cause
    assert "rank 1 was in broadcast(tensor [4] float32)" in own.diagnoses[0].cause
    assert not [line for report in (own, *others) for line in report.remarks if "collective" in line]


def test_a_rank_that_was_ended_before_it_could_explain_is_still_the_one_that_failed_first(tmp_path, monkeypatch):
    monkeypatch.setenv(job.FOLDER, str(tmp_path))
    report = sent(Report("RuntimeError", "Connection closed by peer"))
    recorded(tmp_path, 0)
    recorded(tmp_path, 1, lost=True, same=["RuntimeError", "b.py:2"], place="b.py:2", report=report)
    error = type("ChildFailedError", (Exception,), {})()
    (own,) = launcher.joined(error, Explanation((Report("ChildFailedError", "m"),))).reports
    assert own.type == "ChildFailedError"
    assert own.remarks[0].startswith("rank 0 of 2 failed first (KeyError, a.py:1) and was ended before")
    assert "rank 1, at b.py:2, only lost the others" in own.remarks[1]
    recorded(tmp_path, 1, report=sent(Report("KeyError", "'a'")))
    assert launcher.joined(error, Explanation((Report("ChildFailedError", "m"),))).reports[0].type == "KeyError"


def test_a_rank_that_has_told_all_stays_until_the_others_have(tmp_path):
    """The first to leave has the others ended by the launcher, in the middle of their diagnosis."""
    started = time.time()
    mine, other = recorded(tmp_path, 0, time=started), recorded(tmp_path, 1, time=started, process=os.getppid())
    staying = threading.Thread(target=job.leave, args=(mine,))
    staying.start()
    assert staying.is_alive()
    assert not (tmp_path / f"told-{other['process']}").exists()
    (tmp_path / f"told-{other['process']}").touch()
    staying.join(job.PATIENCE / 2)
    assert not staying.is_alive()
    gone = subprocess.Popen([sys.executable, "-S", "-c", ""])
    gone.wait()
    recorded(tmp_path, 1, time=started, process=gone.pid)
    job.leave(mine)  # waits for nobody who is not there any more
    assert (tmp_path / f"told-{os.getpid()}").exists()


def test_a_job_s_folder_is_for_its_user_alone_and_goes_without_a_home(tmp_path, monkeypatch):
    monkeypatch.delenv(job.FOLDER, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    where = job.folder()
    assert {folder.stat().st_mode & 0o777 for folder in (where, where.parent, where.parent.parent)} == {0o700}

    def homeless():
        raise RuntimeError("no home")

    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr("pathlib.Path.home", homeless)
    assert job.folder() is None


def test_a_rank_s_error_is_told_also_where_the_job_got_over_it(tmp_path, monkeypatch, capsys):
    """Ranks that are started again: their launcher ends without an error."""
    monkeypatch.setenv(job.FOLDER, str(tmp_path))
    report = sent(Report("RuntimeError", "too large", (), (), (Diagnosis("r", "shape", "x is too large", "why"),)))
    first = {"rank": 1, "world": 2, "time": 1.0, "lost": False, "same": ["E", "?"], "place": "?", "call": None}
    (tmp_path / "rank-1.json").write_text(json.dumps({**first, "report": report}))
    launcher._tell_survived()
    assert "error[r]: x is too large" in capsys.readouterr().err
    (tmp_path / "rank-1.json").write_text(json.dumps({**first, "report": "not what we sent"}))
    launcher._tell_survived()
    assert capsys.readouterr().err.startswith("explainer: the job's report failed (")
