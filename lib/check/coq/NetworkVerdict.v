(* What clarke-check-verified asks about a network, given its whole tape, and what a yes proves: `network_sound`. *)
From Coq Require Import QArith Qreals Reals Lra Lia Ascii String List Bool FunctionalExtensionality.
From Clarke Require Import Space Calculus Numbers Program Lipschitz Sound Text Verdict Store Direction Loss Tape
  TapeMeaning TapeText.
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

(* In one direction all kinks go to AD's sides; hints: of each instruction an earlier one that may be the same. Or weights, with
   an arc for each: small networks alone, for the outputs become polynomials. *)
Inductive network_evidence := Toward (d : list Q) (hints : list nat) | Cells (l : list (Q * list (list Q))).
Definition check_network (q : question) (v : verdict) (e : network_evidence) : bool :=
  let n := length (weights q) in let P := as_program q in let outs := ends_at q in let w := weights q in
  fits (by_loss q) (length outs) && without_comparisons P && match v, e with
  | InBouligand, Toward d hints => check_direction n P outs w d hints
  | InBouligand, Cells [(k, steps)] => Qeq_bool k 1 && check_ad n P outs w (duals n P outs w) steps
  | InClarke, Cells l => check_hull n P outs w (duals n P outs w) l
  | _, _ => false end.

(* F: the outputs of all samples as a function of what varies, by the tape's meaning (Tape.v). The loss of these; and AD's
   output, the loss's slopes by the chain rule times what AD makes of the outputs. *)
Definition F_of_tape (q : question) : map_ := tape_value (in_wrt (varies q)) (asked q).
Definition network_claim (q : question) (v : verdict) : Prop := forall e log, exponentials e log ->
  let n := length (weights q) in let m := (length (samples (asked q)) * length (last_features (asked q)))%nat in
  let w := real (weights q) in let F := composed e log (by_loss q) m (F_of_tape q) in
  let AD := chained e (by_loss q) m (F_of_tape q w) (reals (ad n (as_program q) (ends_at q) (weights q))) in match v with
  | InBouligand => Bouligand n 1 F w AD
  | InClarke => Clarke n 1 F w AD
  | NotInClarke => ~ Clarke n 1 F w AD end.

Theorem network_sound r v loss_name text q w e : read_question r v loss_name text = Some q ->
  check_network q w e = true -> network_claim q w.
Proof.
  unfold read_question, check_network, network_claim.
  destruct (read_tape text) as [[[t o] y]|]; try discriminate. destruct (loss_of loss_name t o y) as [l|]; try discriminate.
  destruct (unroll r (in_wrt v) t) as [[P outs]|] eqn:U; try discriminate. destruct (known_names v t); try discriminate.
  intro H. inversion H; subst q. simpl. rewrite !andb_true_iff. intros [[Fl C] D] ex log Log. unfold F_of_tape. simpl.
  destruct (unroll_value _ _ _ _ _ U) as [Len Val]. rewrite <- Len.
  set (n := length (stored (in_wrt v) t)) in *. set (m := length outs) in *. set (x := real (stored (in_wrt v) t)).
  assert (Cont : forall j, (j < m)%nat -> cont n (fun y => value n P outs y j) x).
  { intros j Hj. apply lipschitz_cont, value_lipschitz, C. }
  assert (E : forall z j, (j < 1)%nat -> composed ex log l m (value n P outs) z j =
    composed ex log l m (tape_value (in_wrt v) t) z j).
  { intros z j _. apply (loss_ext ex log l m); auto. }
  replace (chained ex l m (tape_value (in_wrt v) t x)) with (chained ex l m (value n P outs x)).
  2:{ unfold chained. apply functional_extensionality. intro G. apply functional_extensionality. intro j.
      apply functional_extensionality. intro i. apply sum_ext. intros k Hk. f_equal. apply (loss_ext ex log l m); auto. }
  destruct w, e as [d hints|cells]; try discriminate D.
  - apply (Bouligand_same _ _ _ _ _ _ E), loss_bouligand; auto. apply (direction_sound _ _ d _ _ hints D).
  - destruct cells as [|[k steps] [|c cells]]; try discriminate D. apply andb_true_iff in D as [_ D].
    apply (Bouligand_same _ _ _ _ _ _ E), loss_bouligand; auto. apply ad_sound in D. exact D.
  - apply (Clarke_same _ _ _ _ _ _ E), loss_clarke; auto. apply hull_sound in D. exact D.
Qed.
