(* What the theorems stand on: printed, and compared with tests/verified/assumptions.txt. *)
From Clarke Require Import Value Verdict.
Print Assumptions verify_sound.
Print Assumptions check_sound.
Print Assumptions ad_value.
Print Assumptions verify_lipschitz.
Print Assumptions no_kink.
Print Assumptions ad_in_clarke.
Print Assumptions ad_in_bouligand.
