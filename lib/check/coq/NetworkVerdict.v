(* What clarke-check-verified asks about a network, given its whole tape, and what a yes proves: `network_sound`. *)
From Coq Require Import QArith Qreals Reals Lra Lia Ascii String List Bool.
From Clarke Require Import Space Calculus Numbers Program Lipschitz Text Store Direction Loss Tape TapeText.
Import ListNotations.
Open Scope R_scope.

(* Which parameters vary: all, or those of these names, as tapes and proofs write them. *)
Definition wrt := option (list string).
Definition in_wrt (v : wrt) (name : string) : bool := match v with None => true | Some l => existsb (String.eqb name) l end.
Definition known_names (v : wrt) (t : tape) : bool := match v with None => true
  | Some l => forallb (fun name => existsb (fun p : string * list Q => String.eqb name (fst p)) (parameters t)) l end.

(* A tape, its program, and the loss. *)
Record question := { asked : tape; varies : wrt; by_loss : loss; as_program : program; ends_at : list nat; weights : list Q }.
Definition read_question (r : rules) (v : wrt) (loss_name : string) (text : list ascii) : option question :=
  match read_tape text with None => None | Some (t, o, y) =>
    match loss_of loss_name t o y, unroll r (in_wrt v) t with
    | Some l, Some (P, outs) => if known_names v t then
        Some {| asked := t; varies := v; by_loss := l; as_program := P; ends_at := outs; weights := stored (in_wrt v) t |}
        else None
    | _, _ => None end end.

(* In one direction all kinks go to AD's sides; hints: of each instruction an earlier one that may be the same. *)
Definition check_network (q : question) (d : list Q) (hints : list nat) : bool :=
  fits (by_loss q) (length (ends_at q)) && without_comparisons (as_program q) &&
  check_direction (length (weights q)) (as_program q) (ends_at q) (weights q) d hints.

(* The loss at the outputs, as a function of what varies; and AD's output: the loss's slopes by the chain rule. *)
Definition F_of_network (q : question) : map_ := value (length (weights q)) (as_program q) (ends_at q).
Definition network_claim (q : question) : Prop := forall e log, exponentials e log ->
  let n := length (weights q) in let m := length (ends_at q) in let w := real (weights q) in
  Bouligand n 1 (composed e log (by_loss q) m (F_of_network q)) w
    (chained e (by_loss q) m (F_of_network q w) (reals (ad n (as_program q) (ends_at q) (weights q)))).

Theorem network_sound q d hints : check_network q d hints = true -> network_claim q.
Proof.
  unfold check_network, network_claim. rewrite !andb_true_iff. intros [[Fl C] D] e log Log. apply loss_bouligand; auto.
  - intros j Hj. apply lipschitz_cont. apply value_lipschitz. auto.
  - apply (direction_sound _ _ d _ _ hints). auto.
Qed.
