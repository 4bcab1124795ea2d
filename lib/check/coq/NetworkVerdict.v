(* What clarke-check-verified asks about a network, given its whole tape, and what a yes proves: `network_sound`. *)
From Coq Require Import QArith Qreals Reals Lra Lia Ascii String List Bool FunctionalExtensionality.
From Clarke Require Import Space Calculus Numbers Program Lipschitz Sound Text Verdict Store Direction Loss Tape
  Gate TapeMeaning TapeText Composite Rational.
Import ListNotations.
Open Scope R_scope.

(* Which parameters vary: all, or those of these names, as tapes and proofs write them. *)
Definition wrt := option (list string).
Definition in_wrt (v : wrt) (name : string) : bool := match v with None => true | Some l => existsb (String.eqb name) l end.
Definition known_names (v : wrt) (t : tape) : bool := match v with None => true
  | Some l => forallb (fun name => existsb (fun p : string * list Q => String.eqb name (fst p)) (parameters t)) l end.

(* A tape (of one sample, if samples are coupled), its program, and the loss. *)
Record question := { asked : tape; varies : wrt; by_rules : rules; by_loss : loss; as_gates : list gate; ends_at : list nat;
  weights : list Q }.
Definition read_question (r : rules) (v : wrt) (loss_name : string) (text : list ascii) : option question :=
  match read_tape text with None => None | Some (read, o, y) =>
    if negb (in_range read) then None else let t := whole_tape read in
    match loss_of loss_name read o y, unroll true r (in_wrt v) t with
    | Some l, Some (P, outs) => if known_names v t then Some {| asked := t; varies := v; by_rules := r; by_loss := l;
        as_gates := P; ends_at := outs; weights := stored (in_wrt v) t |} else None
    | _, _ => None end end.

(* In one direction all kinks go to AD's sides; hints: of each instruction an earlier one that may be the same. Or weights, with
   an arc for each: small networks alone, for the outputs become polynomials. Or, where the loss is sum or mse, what is evidence
   about the program that the loss is. *)
Inductive network_evidence := Toward (d : list Q) (hints : list nat) | Cells (l : list (Q * list (list Q)))
| OfProgram (e : evidence) (h : hints).
(* For the latter two the network is a program, of instructions alone: sums have their products outside. *)
Definition fused (e : network_evidence) : bool := match e with Toward _ _ => true | _ => false end.
Definition program_of (q : question) : option (program * list nat) :=
  match unroll false (by_rules q) (in_wrt (varies q)) (asked q) with
  | Some (P, outs) => match plain_program P with Some P => Some (P, outs) | None => None end | None => None end.
Definition program_with_loss (q : question) : option source := match program_of q with None => None | Some (P, outs) =>
  match with_loss (length (weights q)) (by_loss q) P outs with
  | Some (P', k) => Some {| size := length (weights q); place := weights q; body := P';
    results := [k] |} | None => None end end.
Definition check_network (q : question) (v : verdict) (e : network_evidence) : bool :=
  let n := length (weights q) in let w := weights q in match v, e with
  | InBouligand, Toward d hints => fits (by_loss q) (length (ends_at q)) && check_direction n (as_gates q) (ends_at q) w d hints
  | _, Toward _ _ => false
  | _, Cells l => match program_of q with None => false | Some (P, outs) =>
      fits (by_loss q) (length outs) && without_comparisons P && match v, l with
      | InBouligand, [(k, steps)] => Qeq_bool k 1 && check_ad n P outs w (duals n P outs w) steps
      | InClarke, _ => check_hull n P outs w (duals n P outs w) l
      | _, _ => false end end
  | _, OfProgram e h => match program_of q, program_with_loss q with
      | Some (P, outs), Some s => forallb (fun o => Nat.ltb o (n + length P)) outs && verify s (touched s) v e h
      | _, _ => false end end.

(* F: the outputs of all samples as a function of what varies, by the tape's meaning (Tape.v). The loss of these; and AD's
   output, the loss's slopes by the chain rule times what AD makes of the outputs. (Of the tape's program, in either form.) *)
Definition network_claim (q : question) (f : bool) (v : verdict) : Prop := forall e log root, elementary e log root ->
  exists P outs, unroll f (by_rules q) (in_wrt (varies q)) (asked q) = Some (P, outs) /\
  let n := length (weights q) in let m := (length (samples (asked q)) * length (last_features (asked q)))%nat in
  let w := real (weights q) in let F := tape_value e log root (in_wrt (varies q)) (asked q) in
  let L := composed e log (by_loss q) m F in let AD := chained e (by_loss q) m (F w) (adR e log root n P outs w) in match v with
  | InBouligand => Bouligand n 1 L w AD
  | InClarke => Clarke n 1 L w AD
  | NotInClarke => ~ Clarke n 1 L w AD end.

Definition holds_of (v : verdict) n (F : map_) (w : pt) (G : jacobian) : Prop := match v with
  | InBouligand => Bouligand n 1 F w G | InClarke => Clarke n 1 F w G | NotInClarke => ~ Clarke n 1 F w G end.

Lemma Clarke_ext n m F w G G' : (forall j i, (j < m)%nat -> (i < n)%nat -> G j i = G' j i) ->
  Clarke n m F w G -> Clarke n m F w G'.
Proof. intros E (L & L1 & L2 & L3). exists L. split; auto. split; auto. intros j i Hj Hi. rewrite <- E; auto. Qed.

Lemma holds_same v n F F' w G G' : (forall x j, (j < 1)%nat -> F x j = F' x j) ->
  (forall j i, (j < 1)%nat -> (i < n)%nat -> G j i = G' j i) -> holds_of v n F w G -> holds_of v n F' w G'.
Proof.
  intros V A. destruct v; simpl; intro H.
  - apply (Bouligand_same _ _ _ _ _ _ V), (Bouligand_ext _ _ _ _ _ _ A), H.
  - apply (Clarke_same _ _ _ _ _ _ V), (Clarke_ext _ _ _ _ _ _ A), H.
  - intro C. apply H. apply (Clarke_same n 1 _ _ _ _ (fun x j Hj => eq_sym (V x j Hj))).
    apply (Clarke_ext _ _ _ _ _ _ (fun j i Hj Hi => eq_sym (A j i Hj Hi))), C.
Qed.

(* The loss of what equals F, and of an AD that has the same rows. *)
Lemma of_outputs v ex log l n m F F' w G G' : (forall x j, (j < m)%nat -> F x j = F' x j) -> (forall j i,
  (j < m)%nat -> G j i = G' j i) -> fits l m = true ->
  holds_of v n (composed ex log l m F) w (chained ex l m (F w) G) -> holds_of v n (composed ex log l m F') w (chained ex l m
    (F' w) G').
Proof.
  intros V A Fl. apply holds_same.
  - intros x j _. apply (loss_ext ex log l m); auto.
  - intros j i _ _. unfold chained. apply sum_ext. intros k Hk. rewrite (A k i Hk). f_equal. apply (loss_ext ex log l m); auto.
Qed.

Theorem network_sound r v loss_name text q w e : read_question r v loss_name text = Some q ->
  check_network q w e = true -> network_claim q (fused e) w.
Proof.
  unfold read_question.
  destruct (read_tape text) as [[[read o] y]|]; try discriminate. destruct (in_range read); try discriminate. cbn [negb].
  set (t := whole_tape read). clearbody t. cbv zeta.
  destruct (loss_of loss_name read o y) as [l|]; try discriminate.
  destruct (unroll true r (in_wrt v) t) as [[P outs]|] eqn:U; try discriminate. destruct (known_names v t); try discriminate.
  intro H. assert (E : q = {| asked := t; varies := v; by_rules := r; by_loss := l; as_gates := P; ends_at := outs;
    weights := stored (in_wrt v) t |}) by congruence. subst q. clear H.
  intros D ex log root Laws. pose proof (proj1 Laws) as Log. unfold check_network in D.
  cbn [asked varies by_rules by_loss as_gates ends_at weights] in *. set (n := length (stored (in_wrt v) t)) in *.
  set (x := real (stored (in_wrt v) t)). destruct e as [d hints|cells|e h]; cbn [fused].
  - exists P, outs. split; auto. destruct w; try discriminate D. apply andb_true_iff in D as [Fl D].
    destruct (unroll_value ex log root _ _ _ _ _ _ U) as [Len Val]. rewrite <- Len.
    destruct (direction_sound ex log root Laws n _ d P outs hints D) as [B C]. cbv zeta.
    apply (of_outputs InBouligand ex log l n _ (gates_value ex log root n P outs) _ x (adR ex log root n P outs x)); auto.
    apply loss_bouligand; auto.
  - assert (Q : exists P' outs', program_of {| asked := t; varies := v; by_rules := r; by_loss := l; as_gates := P;
    ends_at := outs;
        weights := stored (in_wrt v) t |} = Some (P', outs') /\ fits l (length outs') = true /\ without_comparisons P' = true /\
        match w, cells with InBouligand, [(k, steps)] => Qeq_bool k 1 && check_ad n P' outs' (stored (in_wrt v) t) (duals n
          P' outs' (stored (in_wrt v) t)) steps
        | InClarke, _ => check_hull n P' outs' (stored (in_wrt v) t) (duals n P' outs' (stored (in_wrt v) t)) cells | _,
          _ => false end = true).
    { destruct w; (destruct (program_of _) as [[P' outs']|]; [|discriminate D]); exists P', outs'; rewrite !andb_true_iff in D;
        destruct D as [[D1 D2] D3]; repeat split; auto. }
    destruct Q as (P' & outs' & Q & Fl & Co & D'). clear D. unfold program_of in Q. cbn [asked varies by_rules] in Q.
    destruct (unroll false r (in_wrt v) t) as [[P2 outs2]|] eqn:U'; try discriminate.
    destruct (plain_program P2) as [P3|] eqn:Pl; try discriminate. inversion Q; subst P3 outs2. clear Q.
    apply plain_program_gates in Pl. exists P2, outs'. split; auto. cbv zeta.
    destruct (unroll_value ex log root _ _ _ _ _ _ U') as [Len Val]. rewrite <- Len.
    assert (V : forall z j, (j < length outs')%nat -> value n P' outs' z j = tape_value ex log root (in_wrt v) t z j).
    { intros z j Hj. rewrite <- Val by auto. rewrite <- Pl. symmetry. apply plain_value. }
    assert (A : forall j i, (j < length outs')%nat -> reals (ad n P' outs' (stored (in_wrt v) t)) j i = adR ex log root n P2
      outs' x j i).
    { intros j i Hj. rewrite <- Pl. apply plain_ad, Hj. }
    apply (of_outputs w ex log l n _ (value n P' outs') _ x (reals (ad n P' outs' (stored (in_wrt v) t)))); auto.
    assert (Cont : forall j, (j < length outs')%nat -> cont n (fun y => value n P' outs' y j) x).
    { intros j Hj. apply lipschitz_cont, value_lipschitz, Co. }
    destruct w; simpl.
    + destruct cells as [|[k steps] [|c cells]]; try discriminate D'. apply andb_true_iff in D' as [_ D'].
      apply loss_bouligand; auto. apply ad_sound in D'. exact D'.
    + apply loss_clarke; auto. apply hull_sound in D'. exact D'.
    + discriminate D'.
  - assert (Q : exists P' outs' s, program_of {| asked := t; varies := v; by_rules := r; by_loss := l; as_gates := P;
    ends_at := outs;
        weights := stored (in_wrt v) t |} = Some (P', outs') /\ program_with_loss {| asked := t; varies := v; by_rules := r;
          by_loss := l;
        as_gates := P; ends_at := outs; weights := stored (in_wrt v) t |} = Some s /\
        forallb (fun o => Nat.ltb o (n + length P')) outs' = true /\ verify s (touched s) w e h = true).
    { destruct w; (destruct (program_of _) as [[P' outs']|]; [|discriminate D]);
        (destruct (program_with_loss _) as [s|]; [|discriminate D]); exists P', outs', s;
          apply andb_true_iff in D as [D1 D2]; auto. }
    destruct Q as (P' & outs' & s & Q & S & Below & Ver). clear D. apply verify_sound in Ver. unfold program_with_loss in S.
    rewrite Q in S. cbn [by_loss weights] in S. fold n in S.
    destruct (with_loss n l P' outs') as [[P4 k]|] eqn:Wl; try discriminate. inversion S; subst s. clear S.
    unfold program_of in Q. cbn [asked varies by_rules] in Q.
    destruct (unroll false r (in_wrt v) t) as [[P2 outs2]|] eqn:U'; try discriminate.
    destruct (plain_program P2) as [P3|] eqn:Pl; try discriminate. inversion Q; subst P3 outs2. clear Q.
    apply plain_program_gates in Pl. exists P2, outs'. split; auto. cbv zeta.
    destruct (unroll_value ex log root _ _ _ _ _ _ U') as [Len Val]. rewrite <- Len.
    assert (V : forall z j, (j < length outs')%nat -> value n P' outs' z j = tape_value ex log root (in_wrt v) t z j).
    { intros z j Hj. rewrite <- Val by auto. rewrite <- Pl. symmetry. apply plain_value. }
    assert (A : forall j i, (j < length outs')%nat -> reals (ad n P' outs' (stored (in_wrt v) t)) j i = adR ex log root n P2
      outs' x j i).
    { intros j i Hj. rewrite <- Pl. apply plain_ad, Hj. }
    assert (Fl : fits l (length outs') = true) by (unfold with_loss in Wl; destruct l; simpl in *; auto; discriminate).
    assert (Bl : forall o, In o outs' -> (o < n + length P')%nat).
    { intros j Hj. rewrite forallb_forall in Below. apply Nat.ltb_lt, Below, Hj. }
    apply (of_outputs w ex log l n _ (value n P' outs') _ x (reals (ad n P' outs' (stored (in_wrt v) t)))); auto.
    apply (holds_same w n (value n P4 [k]) _ x (reals (ad n P4 [k] (stored (in_wrt v) t)))).
    + intros z j Hj. replace j with 0%nat by lia. apply (with_loss_value _ _ _ _ _ _ Wl Bl).
    + intros j i Hj Hi. replace j with 0%nat by lia. apply (with_loss_ad _ _ _ _ _ _ Wl Bl _ _ _ Hi).
    + exact Ver.
Qed.

(* {1 For other developments} *)

(* The loss of F, and AD's output, of a question; by sums that keep their products, or do not. *)
Definition outputs_of (q : question) := (length (samples (asked q)) * length (last_features (asked q)))%nat.
Definition loss_map e log root (q : question) : map_ :=
  composed e log (by_loss q) (outputs_of q) (tape_value e log root (in_wrt (varies q)) (asked q)).
Definition ad_output e log root (q : question) (f : bool) : jacobian :=
  match unroll f (by_rules q) (in_wrt (varies q)) (asked q) with
  | Some (P, outs) => chained e (by_loss q) (outputs_of q) (tape_value e log root (in_wrt (varies q)) (asked q) (real
    (weights q)))
      (adR e log root (length (weights q)) P outs (real (weights q)))
  | None => fun _ _ => 0 end.

(* The question that a tape's text asks, and a yes to it. By computation, at a given point. *)
Definition verify_network r v loss_name text w e : bool := match read_question r v loss_name text with
  | Some q => check_network q w e | None => false end.
Definition no_direction := Toward [] [].

Section AtPoint.
Variables (r : rules) (v : wrt) (loss_name : string) (text : list ascii).
Variables e log root : R -> R.
Hypothesis laws : elementary e log root.

(* No argument is at a kink and no entries tie, unless they are constant or the same. Then the loss is differentiable at the
   weights, and AD's output is its gradient. *)
Theorem no_tie : verify_network r v loss_name text InBouligand no_direction = true ->
  exists q, read_question r v loss_name text = Some q /\
    diff_at (length (weights q)) (fun y => loss_map e log root q y 0%nat) (real (weights q)) (ad_output e log root q true
      0%nat).
Proof.
  unfold verify_network. destruct (read_question r v loss_name text) as [q|] eqn:E; try discriminate. intro H. exists q. split;
    auto. revert E. unfold read_question.
  destruct (read_tape text) as [[[read o] y]|]; try discriminate. destruct (in_range read); try discriminate. cbn [negb].
  set (t := whole_tape read). clearbody t. cbv zeta.
  destruct (loss_of loss_name read o y) as [l|]; try discriminate.
  destruct (unroll true r (in_wrt v) t) as [[P outs]|] eqn:U; try discriminate. destruct (known_names v t); try discriminate.
  intro E. assert (Eq : q = {| asked := t; varies := v; by_rules := r; by_loss := l; as_gates := P; ends_at := outs;
    weights := stored (in_wrt v) t |}) by congruence. subst q. clear E.
  unfold check_network, no_direction in H. cbn [by_loss ends_at as_gates weights] in H. apply andb_true_iff in H as [Fl D].
  unfold loss_map, ad_output, outputs_of. cbn [asked varies by_rules by_loss weights]. rewrite U.
  destruct (unroll_value e log root _ _ _ _ _ _ U) as [Len Val]. rewrite <- Len.
  set (n := length (stored (in_wrt v) t)) in *. set (x := real (stored (in_wrt v) t)).
  assert (Same : forall y, (forall j, (j < length outs)%nat -> tape_value e log root (in_wrt v) t y j = gates_value e log
    root n P
    outs y j)) by (intros; symmetry; auto).
  apply (diff_local n (fun y => loss_at e log l (length outs) (gates_value e log root n P outs y)) _ _ _ 1 Rlt_0_1).
  { intros y' _. unfold composed. apply (loss_ext e log l); auto. }
  apply (diff_ext_g n _ _ (chained e l (length outs) (gates_value e log root n P outs x) (adR e log root n P outs x) 0%nat)).
  { intros i _. unfold chained. apply sum_ext. intros j Hj. f_equal. apply (loss_ext e log l); auto. }
  unfold chained. apply (diff_outer n _ (gates_value e log root n P outs)).
  - apply (standing_sound e log root n _ P outs [] laws D).
  - apply (c1_diff _ _ _ (loss_smooth _ e log l (proj1 laws) Fl)).
Qed.

(* AD's output is a limit of gradients; or in Clarke's subdifferential, which holds these. *)
Theorem network_in_bouligand ev : verify_network r v loss_name text InBouligand ev = true ->
  exists q, read_question r v loss_name text = Some q /\
    Bouligand (length (weights q)) 1 (loss_map e log root q) (real (weights q)) (ad_output e log root q (fused ev)).
Proof.
  unfold verify_network. destruct (read_question r v loss_name text) as [q|] eqn:E; try discriminate. intro H. exists q. split;
    auto. destruct (network_sound _ _ _ _ _ _ _ E H e log root laws) as (P & outs & U & C). unfold ad_output. rewrite U.
  exact C.
Qed.

Theorem network_in_clarke w ev : w <> NotInClarke -> verify_network r v loss_name text w ev = true ->
  exists q, read_question r v loss_name text = Some q /\
    Clarke (length (weights q)) 1 (loss_map e log root q) (real (weights q)) (ad_output e log root q (fused ev)).
Proof.
  intros Hw H. destruct w; [|clear Hw|contradiction].
  - destruct (network_in_bouligand ev H) as (q & E & B). exists q. split; auto.
    exists [(1, ad_output e log root q (fused ev))]. split; [constructor; [simpl; split; [lra|exact B]|constructor]|].
    split; [simpl; ring|]. intros j i _ _. simpl. ring.
  - revert H. unfold verify_network. destruct (read_question r v loss_name text) as [q|] eqn:E; try discriminate. intro H.
    exists q. split; auto. destruct (network_sound _ _ _ _ _ _ _ E H e log root laws) as (P & outs & U & C).
    unfold ad_output. rewrite U. exact C.
Qed.
End AtPoint.
