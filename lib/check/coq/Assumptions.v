(* What the theorems stand on: printed, and compared with tests/verified/assumptions.txt. *)
From Clarke Require Import Verdict.
Print Assumptions verify_sound.
Print Assumptions check_sound.
Print Assumptions no_kink.
Print Assumptions ad_in_clarke.
Print Assumptions ad_in_bouligand.
