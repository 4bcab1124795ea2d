(* Ranges that real numbers are in: exact rationals, or intervals between integers over 2^160. And where sums, products, roots,
   quotients and exponentials of what is in ranges are. *)
From Coq Require Import ZArith QArith Qreals Reals Lra Lia.
From Clarke Require Import Numbers Gate Loss.
Open Scope R_scope.

Definition unit_ : Z := Z.pow 2 160.
Definition U : R := IZR unit_.
Lemma unit_positive : (0 < unit_)%Z. Proof. reflexivity. Qed.
Lemma U_positive : 0 < U. Proof. apply IZR_lt, unit_positive. Qed.
Global Opaque unit_.

Inductive range := Exactly (q : Q) | Within (lo hi : Z).
Definition inside (r : range) (x : R) := match r with Exactly q => x = Q2R q | Within lo hi => IZR lo <= x * U <= IZR hi end.

Definition floor_ a b := Z.div a b.
Definition ceil_ a b := Z.opp (Z.div (Z.opp a) b).
Definition bounds (r : range) : Z * Z := match r with
  | Exactly q => (floor_ (Qnum q * unit_) (Zpos (Qden q)), ceil_ (Qnum q * unit_) (Zpos (Qden q))) | Within lo hi => (lo,
    hi) end.
Definition radd r s : range := match r, s with Exactly p, Exactly q => Exactly (qadd p q)
  | _, _ => let (a, b) := bounds r in let (c, d) := bounds s in Within (a + c) (b + d) end.
Definition rscale q r : range := match r with Exactly p => Exactly (qmul q p)
  | Within lo hi => match qsgn q with Eq => Exactly 0
    | Gt => Within (floor_ (Qnum q * lo) (Zpos (Qden q))) (ceil_ (Qnum q * hi) (Zpos (Qden q)))
    | Lt => Within (floor_ (Qnum q * hi) (Zpos (Qden q))) (ceil_ (Qnum q * lo) (Zpos (Qden q))) end end.
Definition rmul r s : range := match r, s with
  | Exactly p, _ => rscale p s | _, Exactly q => rscale q r
  | Within a b, Within c d =>
    if ((0 <=? a) && (0 <=? c))%bool%Z then Within (floor_ (a * c) unit_) (ceil_ (b * d) unit_)
    else let ac := (a * c)%Z in let ad := (a * d)%Z in let bc := (b * c)%Z in let bd := (b * d)%Z in
      Within (floor_ (Z.min (Z.min ac ad) (Z.min bc bd)) unit_) (ceil_ (Z.max (Z.max ac ad) (Z.max bc bd)) unit_) end.
(* The sign, where it is certain; how two compare. *)
Definition rsgn r : option comparison := match r with Exactly q => Some (qsgn q)
  | Within lo hi => if (0 <? lo)%Z then Some Gt else if (hi <? 0)%Z then Some Lt
      else if ((lo =? 0) && (hi =? 0))%bool%Z then Some Eq else None end.
Definition rcompare r s : option comparison := match r, s with Exactly p, Exactly q => Some (p ?= q)%Q
  | _, _ => let (a, b) := bounds r in let (c, d) := bounds s in
      if (b <? c)%Z then Some Lt else if (d <? a)%Z then Some Gt else None end.

(* Of positive numbers. *)
Definition rroot r : option range := let (a, b) := bounds r in
  if (0 <? a)%Z then Some (Within (Z.sqrt (a * unit_)) (Z.sqrt (b * unit_) + 1)) else None.
Definition rinverse r : option range := let (a, b) := bounds r in
  if (0 <? a)%Z then Some (Within (floor_ (unit_ * unit_) b) (ceil_ (unit_ * unit_) a)) else None.
(* Below the exponential: that of half of it squared, and so on; in the end 1 + x. *)
Fixpoint exp_low k z : Z := match k with O => Z.max 0 (unit_ + z)
  | S k' => let r := exp_low k' (floor_ z 2) in floor_ (r * r) unit_ end.
Definition rexp r : option range := let (a, b) := bounds r in let l := exp_low 64 (- b) in
  if (0 <? l)%Z then Some (Within (exp_low 64 a) (ceil_ (unit_ * unit_) l)) else None.

(* {1 Rounded quotients} *)

Lemma floor_at a b : (0 < b)%Z -> IZR (floor_ a b) * IZR b <= IZR a.
Proof. intro H. unfold floor_. rewrite <- mult_IZR. apply IZR_le. pose proof (Z.mul_div_le a b H). lia. Qed.
Lemma ceil_at a b : (0 < b)%Z -> IZR a <= IZR (ceil_ a b) * IZR b.
Proof. intro H. unfold ceil_. rewrite <- mult_IZR. apply IZR_le. pose proof (Z.mul_div_le (- a) b H). lia. Qed.

Lemma floor_below a b x : (0 < b)%Z -> IZR a <= x * IZR b -> IZR (floor_ a b) <= x.
Proof.
  intros H L. pose proof (floor_at a b H). assert (B : 0 < IZR b) by (apply IZR_lt; auto).
  apply Rmult_le_reg_r with (IZR b); lra.
Qed.
Lemma ceil_above a b x : (0 < b)%Z -> x * IZR b <= IZR a -> x <= IZR (ceil_ a b).
Proof.
  intros H L. pose proof (ceil_at a b H). assert (B : 0 < IZR b) by (apply IZR_lt; auto).
  apply Rmult_le_reg_r with (IZR b); lra.
Qed.

Lemma Q2R_den q : Q2R q * IZR (Zpos (Qden q)) = IZR (Qnum q).
Proof. unfold Q2R. field. apply not_0_IZR. discriminate. Qed.

Lemma bounds_at r x : inside r x -> IZR (fst (bounds r)) <= x * U <= IZR (snd (bounds r)).
Proof.
  destruct r as [q|lo hi]; simpl; auto. intro; subst. unfold U.
  assert (E : Q2R q * IZR unit_ * IZR (Zpos (Qden q)) = IZR (Qnum q * unit_)) by (rewrite mult_IZR, <- (Q2R_den q); ring).
  split; [apply floor_below|apply ceil_above]; try reflexivity; rewrite E; lra.
Qed.

(* {1 Sums and products} *)

Lemma radd_at r s x y : inside r x -> inside s y -> inside (radd r s) (x + y).
Proof.
  intros H K. pose proof (bounds_at r x H) as A. pose proof (bounds_at s y K) as B. unfold radd.
  destruct r as [p|a b], s as [q|c d]; simpl bounds in *; simpl in *; rewrite ?plus_IZR; try lra.
  subst. rewrite Q2R_add. auto.
Qed.

Lemma rscale_at q r x : inside r x -> inside (rscale q r) (Q2R q * x).
Proof.
  intro H. destruct r as [p|a b]; simpl in *; [subst; rewrite Q2R_mul; auto|]. pose proof (qsgn_spec q) as S.
  assert (D : 0 < IZR (Zpos (Qden q))) by (apply IZR_lt; reflexivity). pose proof (Q2R_den q) as E.
  assert (M : Q2R q * x * U * IZR (Zpos (Qden q)) = IZR (Qnum q) * (x * U)) by (rewrite <- E; ring).
  destruct (qsgn q); simpl; [rewrite S, Q2R_0; ring| |].
  - assert (N : IZR (Qnum q) < 0) by nra. split; [apply floor_below|apply ceil_above]; try reflexivity; rewrite M, mult_IZR;
    nra.
  - assert (N : 0 < IZR (Qnum q)) by nra. split; [apply floor_below|apply ceil_above]; try reflexivity; rewrite M, mult_IZR;
    nra.
Qed.

Lemma between a b y x : a <= x <= b -> Rmin (a * y) (b * y) <= x * y <= Rmax (a * y) (b * y).
Proof.
  intro H. destruct (Rle_dec 0 y).
  - pose proof (Rmin_l (a * y) (b * y)). pose proof (Rmax_r (a * y) (b * y)). split; nra.
  - pose proof (Rmin_r (a * y) (b * y)). pose proof (Rmax_l (a * y) (b * y)). split; nra.
Qed.

Lemma rmul_at r s x y : inside r x -> inside s y -> inside (rmul r s) (x * y).
Proof.
  intros H K. destruct r as [p|a b]; [simpl in H; subst; apply rscale_at, K|].
  destruct s as [q|c d]; [simpl in K; subst; rewrite Rmult_comm; apply rscale_at, H|]. simpl in *.
  pose proof U_positive as P. assert (M : x * y * U * U = (x * U) * (y * U)) by ring.
  set (u := x * U) in *. set (v := y * U) in *. unfold U in M.
  destruct (Z.leb_spec 0 a), (Z.leb_spec 0 c); cbn [andb].
  1:{ apply IZR_le in H0, H1. simpl. split; [apply floor_below|apply ceil_above]; try apply unit_positive;
      unfold U; rewrite M, mult_IZR; nra. }
  all: simpl; pose proof (between _ _ v u H) as B; pose proof (between _ _ (IZR a) v K) as Ba;
    pose proof (between _ _ (IZR b) v K) as Bb; rewrite !(Rmult_comm v) in Ba, Bb;
    (split; [apply floor_below|apply ceil_above]; try apply unit_positive; unfold U; rewrite M);
    [apply Rle_trans with (2 := proj1 B)|apply Rle_trans with (1 := proj2 B)];
    [apply Rmin_glb; [apply Rle_trans with (2 := proj1 Ba)|apply Rle_trans with (2 := proj1 Bb)]; apply Rmin_glb;
      rewrite (Rmult_comm (IZR _) (IZR _)), <- mult_IZR; apply IZR_le; lia
    |apply Rmax_lub; [apply Rle_trans with (1 := proj2 Ba)|apply Rle_trans with (1 := proj2 Bb)]; apply Rmax_lub;
      rewrite (Rmult_comm (IZR _) (IZR _)), <- mult_IZR; apply IZR_le; lia].
Qed.

Lemma rsgn_at r x c : inside r x -> rsgn r = Some c -> match c with Lt => x < 0 | Eq => x = 0 | Gt => 0 < x end.
Proof.
  intros H E. pose proof U_positive as P. destruct r as [q|lo hi]; simpl in *.
  - inversion E; subst. apply qsgn_spec.
  - destruct (Z.ltb_spec 0 lo) as [A|A]; [inversion E; subst; apply IZR_lt in A; nra|].
    destruct (Z.ltb_spec hi 0) as [B|B]; [inversion E; subst; apply IZR_lt in B; nra|].
    destruct (Z.eqb_spec lo 0), (Z.eqb_spec hi 0); try discriminate. inversion E; subst. nra.
Qed.

Lemma rcompare_at r s x y c : inside r x -> inside s y -> rcompare r s = Some c ->
  match c with Lt => x < y | Eq => x = y | Gt => y < x end.
Proof.
  intros H K E. pose proof U_positive as P. pose proof (bounds_at r x H) as A. pose proof (bounds_at s y K) as B.
  assert (G : (let (a, b) := bounds r in let (c, d) := bounds s in
      if (b <? c)%Z then Some Lt else if (d <? a)%Z then Some Gt else None) = Some c ->
    match c with Lt => x < y | Eq => x = y | Gt => y < x end).
  { destruct (bounds r) as [a b], (bounds s) as [c' d]. simpl in *.
    destruct (Z.ltb_spec b c') as [L|L]; [intro T; inversion T; subst; apply IZR_lt in L; nra|].
    destruct (Z.ltb_spec d a) as [M|M]; [intro T; inversion T; subst; apply IZR_lt in M; nra|discriminate]. }
  destruct r as [p|a b], s as [q|c' d]; try (apply G, E). simpl in *. subst. inversion E; subst. clear.
  destruct (Qcompare_spec p q); [apply Qeq_eqR|apply Qlt_Rlt|apply Qlt_Rlt]; auto.
Qed.

(* {1 Roots, quotients, exponentials} *)

Lemma rroot_at root r s x : (forall x, 0 < x -> 0 < root x /\ root x * root x = x) -> inside r x -> rroot r = Some s ->
  0 < x /\ inside s (root x).
Proof.
  intros L H E. pose proof U_positive as P. pose proof (bounds_at r x H) as B. unfold rroot in E.
  destruct (bounds r) as [a b]. simpl in B. destruct (Z.ltb_spec 0 a) as [A|A]; inversion E; subst.
  assert (A' : 0 < IZR a) by (apply IZR_lt; auto). assert (X : 0 < x) by nra. destruct (L x X) as [L1 L2]. split; auto.
  assert (Ab : (a <= b)%Z) by (apply le_IZR; lra). pose proof unit_positive.
  assert (M : root x * U * (root x * U) = x * U * U) by (rewrite <- L2 at 3; ring). assert (Pos : 0 < root x * U) by nra.
  simpl. split.
  - destruct (Z.sqrt_spec (a * unit_)) as [S1 _]; [nia|]. apply IZR_le in S1. rewrite !mult_IZR in S1. fold U in S1.
    assert (Sq : 0 <= IZR (Z.sqrt (a * unit_))) by (apply IZR_le, Z.sqrt_nonneg).
    apply Rnot_lt_le. intro Lt. nra.
  - destruct (Z.sqrt_spec (b * unit_)) as [_ S2]; [nia|]. apply IZR_lt in S2. rewrite !mult_IZR, succ_IZR in S2. fold U in S2.
    rewrite plus_IZR. assert (Sq : 0 <= IZR (Z.sqrt (b * unit_))) by (apply IZR_le, Z.sqrt_nonneg).
    apply Rnot_lt_le. intro Lt. nra.
Qed.

Lemma quotients a b x : (0 < a)%Z -> IZR a <= x * U <= IZR b ->
  0 < x /\ IZR (floor_ (unit_ * unit_) b) <= / x * U <= IZR (ceil_ (unit_ * unit_) a).
Proof.
  intros A B. pose proof U_positive as P. assert (A' : 0 < IZR a) by (apply IZR_lt; auto). assert (X : 0 < x) by nra.
  split; auto. assert (Ab : (a <= b)%Z) by (apply le_IZR; lra). pose proof (Rinv_0_lt_compat x X) as I.
  assert (E : / x * U * (x * U) = U * U) by (field; lra). assert (Y : 0 < / x * U) by nra. unfold U in E.
  split; [apply floor_below|apply ceil_above]; try lia; rewrite mult_IZR; unfold U in *; nra.
Qed.

Lemma rinverse_at r s x : inside r x -> rinverse r = Some s -> 0 < x /\ inside s (/ x).
Proof.
  intros H E. pose proof (bounds_at r x H) as B. unfold rinverse in E. destruct (bounds r) as [a b]. simpl in B.
  destruct (Z.ltb_spec 0 a) as [A|A]; inversion E; subst. apply (quotients a b x A B).
Qed.

Lemma exp_low_at e k : (forall x y, e (x + y) = e x * e y) -> (forall x, 1 + x <= e x) -> forall z x, (forall x, 0 < e x) ->
  IZR z <= x * U -> 0 <= IZR (exp_low k z) <= e x * U.
Proof.
  intros Sum Low. pose proof U_positive as P. induction k as [|k IH]; intros z x Pos H.
  - cbn [exp_low]. specialize (Low x). specialize (Pos x). destruct (Z.max_spec 0 (unit_ + z)) as [[A ->]|[A ->]].
    + rewrite plus_IZR. fold U. split; [apply IZR_lt in A; rewrite plus_IZR in A; fold U in A; lra|nra].
    + split; [lra|nra].
  - cbn [exp_low]. destruct (IH (floor_ z 2) (x / 2) Pos) as [I1 I2].
    { apply floor_below; [reflexivity|]. lra. }
    set (r := exp_low k (floor_ z 2)) in *.
    assert (E : e x = e (x / 2) * e (x / 2)) by (rewrite <- Sum; f_equal; lra).
    split.
    + apply IZR_le, Z.div_pos; [|apply unit_positive]. apply le_IZR in I1. nia.
    + apply floor_below; [apply unit_positive|]. rewrite mult_IZR, E. fold U. specialize (Pos (x / 2)). nra.
Qed.

Opaque exp_low.
Lemma rexp_at e log r s x : exponentials e log -> (forall x y, e (x + y) = e x * e y) -> (forall x, 1 + x <= e x) ->
  inside r x -> rexp r = Some s -> inside s (e x).
Proof.
  intros (E0 & _ & Pos & _) Sum Low H E. pose proof (bounds_at r x H) as B. unfold rexp in E. destruct (bounds r) as [a b].
  simpl in B. set (l := exp_low 64 (- b)) in *. destruct (0 <? l)%Z eqn:A; [|discriminate E]. apply Z.ltb_lt in A.
  assert (E' : Within (exp_low 64 a) (ceil_ (unit_ * unit_) l) = s) by congruence. clear E. subst s.
  assert (P' : forall x, 0 < e x) by (intro; apply Pos).
  destruct (exp_low_at e 64 Sum Low a x P') as [L1 L2]; [lra|].
  destruct (exp_low_at e 64 Sum Low (- b) (- x) P') as [M1 M2]; [rewrite opp_IZR; lra|]. fold l in M1, M2.
  assert (I : e (- x) * e x = 1) by (rewrite <- Sum, <- E0; f_equal; lra).
  cbn [inside]. split; [exact L2|].
  assert (Q : IZR l <= e (- x) * U <= IZR (up (e (- x) * U))) by (split; [lra|left; apply archimed]).
  destruct (quotients l _ (e (- x)) A Q) as [_ [_ Q2]].
  assert (Inv : / e (- x) = e x).
  { apply Rmult_eq_reg_l with (e (- x)); [rewrite Rinv_r; [auto|]|]; specialize (P' (- x)); lra. }
  rewrite Inv in Q2. exact Q2.
Qed.
