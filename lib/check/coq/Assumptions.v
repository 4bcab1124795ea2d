(* What the theorems stand on: printed, and compared with tests/verified/assumptions.txt. *)
From Clarke Require Import Value Verdict Direction Functions Loss NetworkVerdict.
Print Assumptions verify_sound.
Print Assumptions check_sound.
Print Assumptions ad_value.
Print Assumptions verify_lipschitz.
Print Assumptions no_kink.
Print Assumptions ad_in_clarke.
Print Assumptions ad_in_bouligand.
Print Assumptions direction_sound.
Print Assumptions loss_bouligand.
Print Assumptions network_sound.
Print Assumptions functions_sound.
Print Assumptions no_tie.
Print Assumptions network_in_clarke.
