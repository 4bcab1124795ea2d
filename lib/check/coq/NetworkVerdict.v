(* What clarke-check-verified asks about a network, given its whole tape, and what a yes proves: `network_sound`. *)
From Coq Require Import QArith Qreals Reals Lra Lia Ascii String List Bool FunctionalExtensionality.
From Clarke Require Import Space Calculus Numbers Program Lipschitz Sound Text Verdict Store Direction Loss Tape
  TapeMeaning TapeText Composite.
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
   an arc for each: small networks alone, for the outputs become polynomials. Or, where the loss is sum or mse, what is evidence
   about the program that the loss is. *)
Inductive network_evidence := Toward (d : list Q) (hints : list nat) | Cells (l : list (Q * list (list Q)))
| OfProgram (e : evidence) (h : hints).
Definition program_with_loss (q : question) : option source :=
  match with_loss (length (weights q)) (by_loss q) (as_program q) (ends_at q) with
  | Some (P, k) => Some {| size := length (weights q); place := weights q; body := P; results := [k] |} | None => None end.
Definition check_network (q : question) (v : verdict) (e : network_evidence) : bool :=
  let n := length (weights q) in let P := as_program q in let outs := ends_at q in let w := weights q in
  fits (by_loss q) (length outs) && without_comparisons P && match v, e with
  | InBouligand, Toward d hints => check_direction n P outs w d hints
  | InBouligand, Cells [(k, steps)] => Qeq_bool k 1 && check_ad n P outs w (duals n P outs w) steps
  | InClarke, Cells l => check_hull n P outs w (duals n P outs w) l
  | _, OfProgram e h => forallb (fun o => Nat.ltb o (n + length P)) outs && match program_with_loss q with
      | Some s => verify s (touched s) v e h | None => false end
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

Lemma Clarke_ext n m F w G G' : (forall j i, (j < m)%nat -> (i < n)%nat -> G j i = G' j i) ->
  Clarke n m F w G -> Clarke n m F w G'.
Proof. intros E (L & L1 & L2 & L3). exists L. split; auto. split; auto. intros j i Hj Hi. rewrite <- E; auto. Qed.

(* What is proved of the program holds of the loss. *)
Lemma of_program ex log q s v : program_with_loss q = Some s -> claim v s -> let n := length (weights q) in
  let F := composed ex log (by_loss q) (length (ends_at q)) (value n (as_program q) (ends_at q)) in let w := real (weights q) in
  let AD := chained ex (by_loss q) (length (ends_at q)) (value n (as_program q) (ends_at q) w)
    (reals (ad n (as_program q) (ends_at q) (weights q))) in
  (forall o, In o (ends_at q) -> (o < n + length (as_program q))%nat) -> match v with
  | InBouligand => Bouligand n 1 F w AD | InClarke => Clarke n 1 F w AD | NotInClarke => ~ Clarke n 1 F w AD end.
Proof.
  unfold program_with_loss. set (n := length (weights q)).
  destruct (with_loss n (by_loss q) (as_program q) (ends_at q)) as [[P k]|] eqn:W; try discriminate.
  intro H. inversion H; subst s. clear H. cbv zeta. intros H Below. unfold claim, F_of, AD_of in H. cbn in H.
  assert (V : forall x j, (j < 1)%nat -> value n P [k] x j =
    composed ex log (by_loss q) (length (ends_at q)) (value n (as_program q) (ends_at q)) x j).
  { intros x j Hj. replace j with 0%nat by lia. apply (with_loss_value _ _ _ _ _ _ W Below). }
  assert (A : forall j i, (j < 1)%nat -> (i < n)%nat -> reals (ad n P [k] (weights q)) j i =
    chained ex (by_loss q) (length (ends_at q)) (value n (as_program q) (ends_at q) (real (weights q)))
      (reals (ad n (as_program q) (ends_at q) (weights q))) j i).
  { intros j i Hj Hi. replace j with 0%nat by lia. apply (with_loss_ad _ _ _ _ _ _ W Below _ _ _ Hi). }
  destruct v.
  - apply (Bouligand_same _ _ _ _ _ _ V), (Bouligand_ext _ _ _ _ _ _ A), H.
  - apply (Clarke_same _ _ _ _ _ _ V), (Clarke_ext _ _ _ _ _ _ A), H.
  - intro C. apply H. apply (Clarke_same n 1 _ _ _ _ (fun x j Hj => eq_sym (V x j Hj))).
    apply (Clarke_ext _ _ _ _ _ _ (fun j i Hj Hi => eq_sym (A j i Hj Hi))), C.
Qed.

Theorem network_sound r v loss_name text q w e : read_question r v loss_name text = Some q ->
  check_network q w e = true -> network_claim q w.
Proof.
  unfold read_question, check_network, network_claim.
  destruct (read_tape text) as [[[t o] y]|]; try discriminate. destruct (loss_of loss_name t o y) as [l|]; try discriminate.
  destruct (unroll r (in_wrt v) t) as [[P outs]|] eqn:U; try discriminate. destruct (known_names v t); try discriminate.
  set (q0 := {| asked := t; varies := v; by_loss := l; as_program := P; ends_at := outs; weights := stored (in_wrt v) t |}).
  intro H. inversion H; subst q. clear H. rewrite !andb_true_iff. intros [[Fl C] D] ex log Log. unfold F_of_tape.
  pose proof (fun s => of_program ex log q0 s w) as Small. cbn [asked varies by_loss as_program ends_at weights q0] in *.
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
  assert (Same : forall AD, match w with
      | InBouligand => Bouligand n 1 (composed ex log l m (value n P outs)) x AD
      | InClarke => Clarke n 1 (composed ex log l m (value n P outs)) x AD
      | NotInClarke => ~ Clarke n 1 (composed ex log l m (value n P outs)) x AD end -> match w with
      | InBouligand => Bouligand n 1 (composed ex log l m (tape_value (in_wrt v) t)) x AD
      | InClarke => Clarke n 1 (composed ex log l m (tape_value (in_wrt v) t)) x AD
      | NotInClarke => ~ Clarke n 1 (composed ex log l m (tape_value (in_wrt v) t)) x AD end).
  { intros AD H. destruct w; [apply (Bouligand_same _ _ _ _ _ _ E), H|apply (Clarke_same _ _ _ _ _ _ E), H|].
    intro K. apply H, (Clarke_same _ _ _ _ _ _ (fun z j Hj => eq_sym (E z j Hj))), K. }
  apply Same. clear Same. destruct e as [d hints|cells|e h].
  3:{ assert (D' : forallb (fun o => Nat.ltb o (n + length P)) outs = true /\ exists s, program_with_loss q0 = Some s /\
        verify s (touched s) w e h = true).
      { destruct w; apply andb_true_iff in D as [D1 D2]; (split; [exact D1|]); destruct (program_with_loss q0) as [s|];
          try discriminate; exists s; auto. }
      destruct D' as [Below [s [S1 S2]]]. apply (Small s S1 (verify_sound _ _ _ _ _ S2)).
      intros k Hk. rewrite forallb_forall in Below. apply Nat.ltb_lt, Below, Hk. }
  - destruct w; try discriminate D. apply loss_bouligand; auto. apply (direction_sound _ _ d _ _ hints D).
  - destruct w; try discriminate D.
    + destruct cells as [|[k steps] [|c cells]]; try discriminate D. apply andb_true_iff in D as [_ D].
      apply loss_bouligand; auto. apply ad_sound in D. exact D.
    + apply loss_clarke; auto. apply hull_sound in D. exact D.
Qed.
