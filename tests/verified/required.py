"""What another development does: it requires the theorems, in a file of its own, and a network's verdict is one.

    python3 tests/verified/required.py COQC COMPILED CLARKE-CHECK CLARKE-CHECK-VERIFIED

Of stored proofs clarke-check-verified prints files for Coq (`--coq`), which coqc must accept, and a file that uses their theorems. With
another number that AD takes at a kink, another entry of the tape, or another claim, coqc must refuse them.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import proofs

# Stored proofs, the theorems that their files have.
CASES = {"cascade": ["verified"], "declared-plain": ["verified", "differentiable"], "conv": ["verified", "differentiable"],
         "abs": ["verified"]}
# What is said of abs' file (a combination of two cells) is changed.
FORGED = [("At (0 # 1)", "At (1 # 2)"), ("Clarke (", "Bouligand ("), ("(1 # 2), [[(-1", "(1 # 3), [[(-1"), ("\n 1.0\n", "\n 1.1\n")]
USER = """From Coq Require Import QArith Reals List.
From Clarke Require Import Space Numbers Program Loss Gate NetworkVerdict.
Require Import cascade declared_plain.
(* Coq's own functions are what is asked. *)
Theorem own : elementary exp ln sqrt.
Proof.
  repeat split; auto using exp_0, ln_1, exp_pos, derivable_pt_lim_exp, derivable_pt_lim_ln, exp_plus, exp_ineq1_le, sqrt_lt_R0, exp_ln.
  apply sqrt_sqrt, Rlt_le; assumption.
Qed.
(* A theorem of one's own that asks for what AD returns; its hypothesis is met at this point. *)
Definition good n (F : map_) w (G : jacobian) := Bouligand n 1 F w G \\/ diff_at n (fun y => F y 0%nat) w (G 0%nat).
Theorem met e log root : elementary e log root -> exists q f,
  good (length (weights q)) (loss_map e log root q) (real (weights q)) (ad_output e log root q f).
Proof. intro H. destruct (cascade.verified e log root H) as (q & _ & B). exists q. eexists. left. exact B. Qed.
Theorem met_off_kinks e log root : elementary e log root -> exists q f,
  good (length (weights q)) (loss_map e log root q) (real (weights q)) (ad_output e log root q f).
Proof. intro H. destruct (declared_plain.differentiable e log root H) as (q & _ & D). exists q, true. right. exact D. Qed.
Print Assumptions met.
Print Assumptions met_off_kinks.
"""


def compiles(coqc, compiled, file):
    """Does Coq accept it? (yes or no, what it prints)"""
    said = subprocess.run([coqc, "-q", "-Q", compiled, "Clarke", file.name], cwd=file.parent, capture_output=True, text=True, timeout=120)
    return said.returncode == 0, said.stdout + said.stderr


def main():
    """Makes the files; asks Coq."""
    coqc, compiled, check, verified = sys.argv[1:]
    failed = []
    with tempfile.TemporaryDirectory() as work:
        folder, texts = Path(work), {}
        known = {}
        for proof, data in proofs.stored():
            known.setdefault(proof.stem, (proof, data))
        for name, theorems in CASES.items():
            proof, data = known[name]
            tape, file = folder / "tape", folder / f"{proof.stem.replace('-', '_')}.v"
            proofs.tape(check, proof, data, tape)
            file.write_bytes(subprocess.run([verified, proof, "--tape", tape, "--coq"], capture_output=True, check=True).stdout)
            texts[proof.stem] = file.read_text()
            found = [line.split(" ")[1] for line in texts[proof.stem].splitlines() if line.startswith("Theorem ")]
            good, said = compiles(coqc, compiled, file)
            if found != theorems or not good:
                failed.append(f"{proof.name}: theorems {found}, not {theorems}; {said}")
        (folder / "user.v").write_text(USER)
        good, said = compiles(coqc, compiled, folder / "user.v")
        names = {line.split(" ")[0] for line in said.splitlines() if "." in line.split(" ")[0] and not line.startswith(" ")}
        axioms = {"ClassicalDedekindReals.sig_forall_dec", "FunctionalExtensionality.functional_extensionality_dep"}
        if not good or names != axioms:
            failed.append(f"a development that requires these: {said}")
        for old, new in FORGED:
            if old not in texts["abs"]:
                failed.append(f"{old!r} is not in the file")
            (folder / "forged.v").write_text(texts["abs"].replace(old, new))
            if compiles(coqc, compiled, folder / "forged.v")[0]:
                failed.append(f"{new!r} for {old!r}: Coq accepts it")
    print("\n".join(failed) or f"{len(CASES)} files and one that requires them; {len(FORGED)} forged ones refused")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
