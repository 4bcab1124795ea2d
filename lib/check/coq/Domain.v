(* Functions of one number: where they are smooth, and their derivatives; continuity of what is behind them. *)
From Coq Require Import QArith Reals Lra Lia List.
From Clarke Require Import Space Calculus Numbers Program Lipschitz Loss Gate.
Import ListNotations.
Open Scope R_scope.

(* {1 Continuity at a point} *)

Section Continuity.
Variable n : nat.
Notation cont := (cont n).

Lemma cont_moved K f h w : (forall y, Rabs (h y - h w) <= K * Rabs (f y - f w)) -> cont f w -> cont h w.
Proof.
  intros H C e He. pose proof (Rabs_pos K). destruct (C (e / (Rabs K + 1))) as [d [D1 D2]]; [apply Rdiv_lt_0_compat; lra|].
  exists d. split; auto. intros y Hy. specialize (D2 y Hy). eapply Rle_lt_trans; [apply H|].
  pose proof (Rabs_pos (f y - f w)). pose proof (Rle_abs K).
  apply Rle_lt_trans with ((Rabs K + 1) * Rabs (f y - f w)); [nra|].
  apply Rmult_lt_compat_l with (r := Rabs K + 1) in D2; [|lra].
  replace ((Rabs K + 1) * (e / (Rabs K + 1))) with e in D2 by (field; lra). auto.
Qed.

Lemma cont_largest (fs : list (pt -> R)) r w : (forall f, In f fs -> cont f w) -> cont (fun y => kthR r (map (fun f => f y)
  fs)) w.
Proof.
  intros H e He.
  assert (C : exists d, 0 < d /\ forall y, N n (sub y w) < d -> close (e / 2) (map (fun f => f y) fs) (map (fun f => f w) fs)).
  { induction fs as [|f fs IH]; [exists 1; split; [lra|intros; constructor]|].
    destruct IH as [d [D1 D2]]; [intros; apply H; simpl; auto|].
    destruct (H f (or_introl eq_refl) (e / 2)) as [d' [D1' D2']]; [lra|].
    exists (Rmin d d'). split; [apply Rmin_glb_lt; auto|]. intros y Hy. pose proof (Rmin_l d d'). pose proof (Rmin_r d d').
    constructor; [|apply D2; lra]. specialize (D2' y ltac:(lra)). apply Rabs_def2 in D2'. lra. }
  destruct C as [d [D1 D2]]. exists d. split; auto. intros y Hy. specialize (D2 y Hy).
  pose proof (kth_moves (e / 2) r _ _ ltac:(lra) D2). lra.
Qed.

Lemma cont_behind f h w l : cont f w -> derivable_pt_lim h (f w) l -> cont (fun y => h (f y)) w.
Proof.
  intros C D e He. destruct (D 1 Rlt_0_1) as [r Hr]. pose proof (Rabs_pos l). pose proof (cond_pos r).
  destruct (C (Rmin r (e / (2 * (Rabs l + 1))))) as [d [D1 D2]]; [apply Rmin_glb_lt; auto; apply Rdiv_lt_0_compat; lra|].
  exists d. split; auto. intros y Hy. specialize (D2 y Hy). pose proof (Rmin_l r (e / (2 * (Rabs l + 1)))).
  pose proof (Rmin_r r (e / (2 * (Rabs l + 1)))). set (k := f y - f w) in *.
  destruct (Req_dec k 0) as [Z|Z].
  - assert (E : f y = f w) by (unfold k in Z; lra). rewrite E. rewrite Rminus_eq_0, Rabs_R0. auto.
  - specialize (Hr k Z ltac:(lra)). replace (f w + k) with (f y) in Hr by (unfold k; ring).
    set (u := h (f y) - h (f w)) in *. replace u with ((u / k - l) * k + l * k) by (field; auto).
    eapply Rle_lt_trans; [apply Rabs_triang|]. rewrite !Rabs_mult. pose proof (Rabs_pos k).
    apply Rle_lt_trans with ((Rabs l + 1) * Rabs k); [nra|].
    apply Rle_lt_trans with ((Rabs l + 1) * (e / (2 * (Rabs l + 1)))); [apply Rmult_le_compat_l; lra|].
    replace ((Rabs l + 1) * (e / (2 * (Rabs l + 1)))) with (e / 2) by (field; lra). lra.
Qed.

Lemma cont_at_inverse f w : 0 < f w -> cont f w -> cont (fun y => / f y) w.
Proof.
  intros P C e He. set (a := f w) in *.
  destruct (C (Rmin (a / 2) (e * (a * a) / 4))) as [d [D1 D2]].
  { apply Rmin_glb_lt; [lra|]. apply Rdiv_lt_0_compat; [|lra]. apply Rmult_lt_0_compat; auto. nra. }
  exists d. split; auto. intros y Hy. specialize (D2 y Hy). fold a in D2. fold a. pose proof (Rmin_l (a / 2) (e * (a * a) / 4)).
  pose proof (Rmin_r (a / 2) (e * (a * a) / 4)). set (b := f y) in *.
  assert (B : a / 2 < b) by (apply Rabs_def2 in D2; lra).
  replace (/ b - / a) with ((a - b) / (a * b)) by (field; lra). unfold Rdiv. rewrite Rabs_mult, Rabs_minus_sym.
  assert (Pab : 0 < a * b) by nra. rewrite (Rabs_right (/ (a * b))) by (left; apply Rinv_0_lt_compat; auto).
  apply Rmult_lt_reg_r with (a * b); auto. rewrite Rmult_assoc, Rinv_l by lra. rewrite Rmult_1_r.
  assert (B' : a * (a / 2) < a * b) by (apply Rmult_lt_compat_l; auto).
  assert (B2 : e * (a * (a / 2)) < e * (a * b)) by (apply Rmult_lt_compat_l; auto).
  assert (Sq : 0 < e * (a * a)) by (apply Rmult_lt_0_compat; auto; nra). lra.
Qed.

Lemma diff_unique f x g g' : diff_at n f x g -> diff_at n f x g' -> forall i, (i < n)%nat -> g i = g' i.
Proof.
  intros D D' i Hi. apply cond_eq. intros e He. destruct (D (e / 3) ltac:(lra)) as [d [D1 D2]].
  destruct (D' (e / 3) ltac:(lra)) as [d' [D1' D2']]. assert (M : 0 < Rmin d d') by (apply Rmin_glb_lt; auto).
  set (s := Rmin d d' / 2). pose proof (Rmin_l d d'). pose proof (Rmin_r d d'). set (u := fun k => if Nat.eqb k i then 1 else
    0).
  assert (Nu : N n u = 1).
  { unfold N. rewrite (sum_ext n _ (fun k => (if Nat.eqb k i then 1 else 0) * 1)).
    - rewrite sum_delta. destruct (Nat.ltb_spec i n); [auto|lia].
    - intros k _. unfold u. destruct (Nat.eqb k i); rewrite ?Rabs_R1, ?Rabs_R0; ring. }
  assert (Ns : N n (sub (line x s u) x) = s) by (rewrite N_line, Nu, Rabs_right; unfold s; lra).
  assert (Un : forall h, dot n h (sub (line x s u) x) = s * h i) by (intro h; rewrite dot_line, dot_comm; unfold u;
    rewrite dot_unit; auto).
  specialize (D2 (line x s u) ltac:(rewrite Ns; unfold s; lra)). specialize (D2' (line x s u) ltac:(rewrite Ns; unfold s; lra)).
  rewrite Ns, Un in D2, D2'. assert (S : 0 < s) by (unfold s; lra). assert (B : Rabs (s * (g i - g' i)) <= s * (2 * e / 3)).
  { replace (s * (g i - g' i)) with ((f (line x s u) - f x - s * g' i) - (f (line x s u) - f x - s * g i)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
  rewrite Rabs_mult, (Rabs_right s) in B by lra. apply Rmult_le_reg_l in B; auto. lra.
Qed.

Lemma cont_inverse f w : f w <> 0 -> cont f w -> cont (fun y => / f y) w.
Proof.
  intros Z C. destruct (Rlt_dec 0 (f w)) as [P|P]; [apply cont_at_inverse; auto|].
  assert (C' : cont (fun y => - f y) w).
  { apply (cont_moved 1 f); auto. intro y. right. rewrite Rmult_1_l, <- (Rabs_Ropp (f y - f w)). f_equal. ring. }
  assert (I : cont (fun y => / - f y) w) by (apply cont_at_inverse; auto; lra).
  apply (cont_moved 1 (fun y => / - f y)); auto. intro y. right.
  rewrite Rmult_1_l, <- (Rabs_Ropp (/ f y - / f w)), !Rinv_opp. f_equal. ring.
Qed.

Lemma cont_same f h w : (forall y, h y = f y) -> cont f w -> cont h w.
Proof. intros E C. apply (cont_moved 1 f); auto. intro y. rewrite !E. lra. Qed.

Lemma cont_below f w : cont f w -> cont (fun y => Rmin (f y) 0) w.
Proof.
  intro C. apply (cont_moved 1 f); auto. intro y. rewrite Rmult_1_l. unfold Rmin.
  destruct (Rle_dec (f y) 0), (Rle_dec (f w) 0); unfold Rabs; repeat destruct (Rcase_abs _); lra.
Qed.
End Continuity.

(* {1 The functions} *)

Section Functions.
Variables e log root : R -> R.
Hypothesis laws : elementary e log root.
Definition in_domain f x := match f with Exp | Elu | SquareAbove => True | Root | Log => 0 < x | Inverse | Above => x <> 0 end.

Lemma inverse_derivable_above x : 0 < x -> derivable_pt_lim Rinv x (- (/ x * / x)).
Proof.
  intros Hx eps He. assert (D : 0 < Rmin (x / 2) (eps * (x * x * x) / 4)).
  { apply Rmin_glb_lt; [lra|]. apply Rdiv_lt_0_compat; [|lra]. apply Rmult_lt_0_compat; auto.
    apply Rmult_lt_0_compat; auto. nra. }
  exists (mkposreal _ D). simpl. intros h Hh Lh. pose proof (Rmin_l (x / 2) (eps * (x * x * x) / 4)).
  pose proof (Rmin_r (x / 2) (eps * (x * x * x) / 4)). assert (Hy : x / 2 < x + h) by (apply Rabs_def2 in Lh; lra).
  replace ((/ (x + h) - / x) / h - - (/ x * / x)) with (h * / (x * x * (x + h))) by (field; lra).
  assert (P : 0 < x * x * (x + h)) by (apply Rmult_lt_0_compat; nra).
  rewrite Rabs_mult, (Rabs_right (/ _)) by (left; apply Rinv_0_lt_compat; auto).
  apply Rmult_lt_reg_r with (x * x * (x + h)); auto. rewrite Rmult_assoc, Rinv_l by lra.
  assert (x * x * x / 2 < x * x * (x + h)) by nra. nra.
Qed.

Lemma inverse_derivable x : x <> 0 -> derivable_pt_lim Rinv x (- (/ x * / x)).
Proof.
  intro Z. destruct (Rlt_dec 0 x) as [P|P]; [apply inverse_derivable_above, P|]. intros eps He.
  destruct (inverse_derivable_above (- x) ltac:(lra) eps He) as [d D]. exists d. intros h Hh Lh.
  specialize (D (- h) ltac:(lra)). rewrite Rabs_Ropp in D. specialize (D Lh).
  replace ((/ (x + h) - / x) / h - - (/ x * / x)) with ((/ (- x + - h) - / - x) / - h - - (/ - x * / - x)); auto.
  rewrite <- Ropp_plus_distr. unfold Rdiv. rewrite !Rinv_opp. ring.
Qed.

(* The derivative is that of a function that is the same near x. *)
Lemma derivable_local f h x l d : 0 < d -> (forall k, Rabs k < d -> h (x + k) = f (x + k)) -> derivable_pt_lim f x l ->
  derivable_pt_lim h x l.
Proof.
  intros Hd E D eps He. destruct (D eps He) as [r Hr]. assert (M : 0 < Rmin d r) by (apply Rmin_glb_lt; [auto|apply cond_pos]).
  exists (mkposreal _ M). simpl. intros k Hk Lk. pose proof (Rmin_l d r). pose proof (Rmin_r d r).
  pose proof (E 0 ltac:(rewrite Rabs_R0; auto)) as E0. rewrite Rplus_0_r in E0. rewrite E0, E by lra. apply Hr; auto. lra.
Qed.

Lemma constant_derivable (c x : R) : derivable_pt_lim (fun _ => c) x 0.
Proof.
  intros eps He. exists (mkposreal 1 Rlt_0_1). intros h Hh _. replace ((c - c) / h - 0) with 0 by (field; auto).
  rewrite Rabs_R0. auto.
Qed.

Lemma Elu_derivable x : derivable_pt_lim (applied e log root Elu) x (fn_slope e root Elu x).
Proof.
  destruct laws as ((E0 & _ & Ex & _) & _). unfold applied, fn_slope. destruct (Rlt_dec x 0) as [L|L].
  - apply (derivable_local (fun y => e y - 1) _ x (e x) (- x)); [lra| |].
    + intros k Hk. apply Rabs_def2 in Hk. destruct (Rlt_dec (x + k) 0); [auto|lra].
    + intros eps He. destruct (proj2 (Ex x) eps He) as [d D]. exists d. intros h Hh Lh. specialize (D h Hh Lh).
      replace (e (x + h) - 1 - (e x - 1)) with (e (x + h) - e x) by ring. exact D.
  - destruct (Req_dec x 0) as [Z|Z].
    + subst x. intros eps He. destruct (proj2 (Ex 0) eps He) as [d D]. exists d. intros h Hh Lh. specialize (D h Hh Lh).
      rewrite !Rplus_0_l in *. destruct (Rlt_dec 0 0) as [A|A]; [lra|]. rewrite E0 in D. destruct (Rlt_dec h 0).
      * replace (e h - 1 - 0) with (e h - 1) by ring. auto.
      * replace ((h - 0) / h - 1) with 0 by (field; auto). rewrite Rabs_R0. auto.
    + apply (derivable_local (fun y => y) _ x 1 x); [lra| |].
      * intros k Hk. apply Rabs_def2 in Hk. destruct (Rlt_dec (x + k) 0); [lra|auto].
      * intros eps He. exists (mkposreal 1 Rlt_0_1). intros h Hh _. replace ((x + h - x) / h - 1) with 0 by (field; auto).
        rewrite Rabs_R0. auto.
Qed.

Lemma SquareAbove_derivable x : derivable_pt_lim (applied e log root SquareAbove) x (fn_slope e root SquareAbove x).
Proof.
  unfold applied, fn_slope. assert (Sq : derivable_pt_lim (fun y => y * y) x (2 * x)).
  { intros eps He. exists (mkposreal _ He). simpl. intros h Hh Lh.
    replace (((x + h) * (x + h) - x * x) / h - 2 * x) with h by (field; auto). auto. }
  destruct (Rlt_dec x 0) as [L|L].
  - apply (derivable_local (fun _ => 0) _ x 0 (- x)); [lra| |apply constant_derivable].
    intros k Hk. apply Rabs_def2 in Hk. destruct (Rlt_dec (x + k) 0); [auto|lra].
  - destruct (Req_dec x 0) as [Z|Z].
    + subst x. intros eps He. exists (mkposreal _ He). simpl. intros h Hh Lh. rewrite !Rplus_0_l.
      destruct (Rlt_dec 0 0) as [A|A]; [lra|]. destruct (Rlt_dec h 0).
      * replace ((0 - 0 * 0) / h - 2 * 0) with 0 by (field; auto). rewrite Rabs_R0. auto.
      * replace ((h * h - 0 * 0) / h - 2 * 0) with h by (field; auto). auto.
    + apply (derivable_local (fun y => y * y) _ x _ x); [lra| |exact Sq].
      intros k Hk. apply Rabs_def2 in Hk. destruct (Rlt_dec (x + k) 0); [lra|auto].
Qed.

Lemma Above_derivable x : x <> 0 -> derivable_pt_lim (applied e log root Above) x 0.
Proof.
  intro Z. unfold applied. apply (derivable_local (fun _ => if Rlt_dec 0 x then 1 else 0) _ x 0 (Rabs x));
    [apply Rabs_pos_lt, Z| |
    apply constant_derivable].
  intros k Hk. revert Hk. unfold Rabs at 2. destruct (Rcase_abs x); intro Hk; apply Rabs_def2 in Hk;
    destruct (Rlt_dec 0 x), (Rlt_dec 0 (x + k)); auto; lra.
Qed.

Lemma root_near a b : 0 < a -> 0 < b -> Rabs (root b - root a) * root a <= Rabs (b - a).
Proof.
  destruct laws as (_ & _ & _ & Rt & _). intros Ha Hb. destruct (Rt a Ha) as [A1 A2], (Rt b Hb) as [B1 B2].
  assert (E : b - a = (root b - root a) * (root b + root a)).
  { transitivity (root b * root b - root a * root a); [rewrite A2, B2; auto|ring]. }
  rewrite E.
  rewrite Rabs_mult, (Rabs_right (root b + root a)) by lra. apply Rmult_le_compat_l; [apply Rabs_pos|lra].
Qed.

Lemma root_derivable x : 0 < x -> derivable_pt_lim root x (/ (2 * root x)).
Proof.
  intros Hx eps He. destruct laws as (_ & _ & _ & Rt & _). destruct (Rt x Hx) as [S1 S2]. set (s := root x) in *.
  assert (P3 : 0 < s * s * s) by (apply Rmult_lt_0_compat; nra).
  assert (D : 0 < Rmin (x / 2) (eps * (s * s * s))) by (apply Rmin_glb_lt; [lra|apply Rmult_lt_0_compat; auto]).
  exists (mkposreal _ D). simpl. intros h Hh Lh. pose proof (Rmin_l (x / 2) (eps * (s * s * s))).
  pose proof (Rmin_r (x / 2) (eps * (s * s * s))). assert (Hy : 0 < x + h) by (apply Rabs_def2 in Lh; lra).
  destruct (Rt (x + h) Hy) as [U1 U2]. pose proof (root_near x (x + h) Hx Hy) as N. fold s in N.
  set (u := root (x + h)) in *. replace (x + h - x) with h in N by ring. assert (E : h = u * u - s * s) by lra.
  assert (K : u - s <> 0) by (intro Z; apply Hh; rewrite E; replace u with s by lra; ring).
  assert (Q : (u - s) / h - / (2 * s) = (s - u) * / (2 * s * (u + s))).
  { rewrite E. field. split; [lra|]. split; [lra|]. replace (u * u - s * s) with ((u - s) * (u + s)) by ring.
    apply Rmult_integral_contrapositive_currified; lra. }
  rewrite Q, Rabs_mult, Rabs_minus_sym.
  assert (P : 0 < 2 * s * (u + s)) by (apply Rmult_lt_0_compat; lra).
  rewrite (Rabs_right (/ _)) by (left; apply Rinv_0_lt_compat; auto).
  apply Rmult_lt_reg_r with (2 * s * (u + s)); auto. rewrite Rmult_assoc, Rinv_l by lra. rewrite Rmult_1_r.
  pose proof (Rabs_pos (u - s)) as Pu. apply Rmult_lt_reg_r with s; auto. nra.
Qed.

Lemma applied_derivable f x : in_domain f x -> derivable_pt_lim (applied e log root f) x (fn_slope e root f x).
Proof.
  destruct f; intro H; try (simpl in H; simpl).
  - destruct laws as ((_ & _ & Ex & _) & _). apply Ex.
  - apply root_derivable, H.
  - apply inverse_derivable, H.
  - destruct laws as ((_ & _ & _ & Lg) & _). apply Lg, H.
  - apply Elu_derivable.
  - apply SquareAbove_derivable.
  - apply Above_derivable, H.
Qed.

Lemma slope_cont n f g x : in_domain f (g x) -> cont n g x -> cont n (fun y => fn_slope e root f (g y)) x.
Proof.
  intros D C. destruct f; simpl in *.
  - apply (cont_behind n g e x (e (g x)) C). destruct laws as ((_ & _ & Ex & _) & _). apply Ex.
  - destruct laws as (_ & _ & _ & Rt & _). destruct (Rt (g x) D) as [R1 _].
    apply (cont_at_inverse n (fun y => 2 * root (g y))); [lra|]. apply cont_mul; [apply cont_const|].
    apply (cont_behind n g root x (/ (2 * root (g x))) C), root_derivable, D.
  - assert (I : cont n (fun y => / g y) x) by (apply cont_inverse; auto).
    apply (cont_moved n 1 (fun y => / g y * / g y)); [|apply cont_mul; auto]. intro y. right.
    rewrite Rmult_1_l, <- (Rabs_Ropp (/ g y * / g y - / g x * / g x)). f_equal. ring.
  - apply cont_at_inverse; auto.
  - destruct laws as ((E0 & _ & Ex & _) & _). apply (cont_same n (fun y => e (Rmin (g y) 0))).
    + intro y. destruct (Rlt_dec (g y) 0); [rewrite Rmin_left by lra; auto|]. rewrite Rmin_right by lra. auto.
    + apply (cont_behind n (fun y => Rmin (g y) 0) e x (e (Rmin (g x) 0))); [apply cont_below, C|apply Ex].
  - apply (cont_moved n 2 g); auto. intro y. destruct (Rlt_dec (g y) 0), (Rlt_dec (g x) 0); unfold Rabs;
      repeat destruct (Rcase_abs _); lra.
  - apply cont_const.
Qed.
End Functions.

