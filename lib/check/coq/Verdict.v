(* What clarke-check-verified asks, and what a yes proves: `verify_sound`. And the hypothesis that theorems on training
   with automatic differentiation leave to their users, at a given point: `no_kink` and `ad_in_clarke`. *)
From Coq Require Import QArith Qreals Reals Lra Lia List Bool Ascii.
From Clarke Require Import Space Calculus Numbers Program Poly Choice Arc Tree Sound Order Text Lipschitz.
Import ListNotations.
Open Scope R_scope.

Inductive verdict := InBouligand | InClarke | NotInClarke.
(* An arc has steps, each an entry for every number that varies. *)
Inductive evidence :=
| Ad (steps : list (list Q))
| Hull (cells : list (Q * list (list Q)))
| Separator (v : list (list Q)) (T : tree)
| Unanimous (T : tree).
(* How the program is followed, and where decisions are shown not to be 0: hints, which are checked. *)
Record hints := { ordered : program; labels : list nat; ends : list nat; tests : list (list Q) }.

(* {1 The claim} *)

Definition F_of (s : source) : map_ := value (size s) (body s) (results s).
Definition AD_of (s : source) : jacobian := reals (ad (size s) (body s) (results s) (place s)).
Definition claim (v : verdict) (s : source) : Prop :=
  let n := size s in let m := length (results s) in let w := real (place s) in match v with
  | InBouligand => Bouligand n m (F_of s) w (AD_of s)
  | InClarke => Clarke n m (F_of s) w (AD_of s)
  | NotInClarke => ~ Clarke n m (F_of s) w (AD_of s) end.

(* The instructions that the execution at w finds at a kink. *)
Definition at_kink (G : list dual) (o : instr) : bool := match o with
  | Kink i a b _ => qz (val G i) && negb (Qeq_bool a b)
  | Kth r l _ _ => Nat.ltb 1 (length (filter (fun k => Qeq_bool (val G k) (kthQ r (map (val G) l))) l))
  | Test _ i j => Qeq_bool (val G i) (val G j)
  | _ => false end.
Definition asks_for (G : list dual) (o : instr) : list nat := match o with
  | Sel t k l => [t; if qz (val G t) then l else k] | _ => args o end.
(* From the last instruction back: is it asked for, and touched? *)
Fixpoint executed (G : list dual) (l : list (nat * instr)) (asked : list nat) : nat := match l with [] => 0%nat
  | (k, o) :: l' => if existsb (Nat.eqb k) asked
      then ((if at_kink G o then 1 else 0) + executed G l' (asks_for G o ++ asked))%nat else executed G l' asked end.
Definition touched (s : source) : nat :=
  executed (runD (inputs (size s) (place s)) (body s))
    (rev (List.combine (seq (size s) (length (body s))) (map snd (body s)))) (results s).

Definition verify (s : source) (count : nat) (v : verdict) (e : evidence) (h : hints) : bool :=
  let n := size s in let P := ordered h in let outs := ends h in let w := place s in
  let ad := duals n (body s) (results s) w in
  reorders n (body s) (results s) P (labels h) outs && Nat.eqb count (touched s) && match v, e with
  | InBouligand, Ad steps => check_ad n P outs w ad steps
  | InBouligand, Hull [(k, steps)] => Qeq_bool k 1 && check_ad n P outs w ad steps
  | InClarke, Hull cells => check_hull n P outs w ad cells
  | NotInClarke, Separator u T => check_separator n P outs w ad (tests h) u T
  | InBouligand, Unanimous T => check_unanimous n P outs w ad (tests h) T
  | _, _ => false end.

(* A program's text, the point, AD's rules; the number of touched instructions, the verdict, its evidence. *)
Definition check (r : rules) (p : point) (text : list ascii) count v e h : bool := match parse r p text with
  | Some s => verify s count v e h | None => false end.

(* {1 Soundness} *)

Lemma Bouligand_same n m F F' w G : (forall x j, (j < m)%nat -> F x j = F' x j) -> Bouligand n m F w G ->
  Bouligand n m F' w G.
Proof.
  intros E H e He. destruct (H e He) as (x & J & A & B & C). exists x, J. split; auto. split; auto.
  intros j Hj d Hd. destruct (B j Hj d Hd) as [r [R1 R2]]. exists r. split; auto. intros y Hy. rewrite <- !E; auto.
Qed.

Lemma Clarke_same n m F F' w G : (forall x j, (j < m)%nat -> F x j = F' x j) -> Clarke n m F w G -> Clarke n m F' w G.
Proof.
  intros E (L & L1 & L2 & L3). exists L. split; auto. rewrite Forall_forall in *. intros c Hc. destruct (L1 c Hc).
  split; auto. apply (Bouligand_same n m F F'); auto.
Qed.

Theorem verify_sound s count v e h : verify s count v e h = true -> claim v s.
Proof.
  unfold verify, claim. rewrite !andb_true_iff. intros [[R _] H].
  set (n := size s) in *. set (m := length (results s)).
  assert (Len : length (ends h) = m).
  { unfold reorders in R. rewrite !andb_true_iff in R. destruct R as [_ R]. apply same_slots_eq in R.
    unfold m. rewrite <- R, map_length. auto. }
  assert (E : forall x j, (j < m)%nat -> value n (ordered h) (ends h) x j = F_of s x j).
  { intros x j Hj. apply (reorders_value _ _ _ _ _ _ x R). lia. }
  assert (E' : forall x j, (j < m)%nat -> F_of s x j = value n (ordered h) (ends h) x j) by (intros; symmetry; auto).
  destruct v, e as [steps|cells|u T|T]; try discriminate H; unfold AD_of, ad.
  - apply ad_sound in H. rewrite Len in H. exact (Bouligand_same _ _ _ _ _ _ E H).
  - destruct cells as [|[k steps] [|c cells]]; try discriminate H. apply andb_true_iff in H as [_ H].
    apply ad_sound in H. rewrite Len in H. exact (Bouligand_same _ _ _ _ _ _ E H).
  - apply unanimous_sound in H. rewrite Len in H. exact (Bouligand_same _ _ _ _ _ _ E H).
  - apply hull_sound in H. rewrite Len in H. exact (Clarke_same _ _ _ _ _ _ E H).
  - apply separator_sound in H. rewrite Len in H. intro C. apply H. exact (Clarke_same _ _ _ _ _ _ E' C).
Qed.

(* What is trusted of the text: that `parse` reads it as docs/programs.md says. *)
Theorem check_sound r p text count v e h : check r p text count v e h = true ->
  exists s, parse r p text = Some s /\ claim v s.
Proof.
  unfold check. destruct (parse r p text) as [s|]; try discriminate. intro H. exists s. split; auto.
  apply (verify_sound _ _ _ _ _ H).
Qed.

(* If no comparison is executed, F is Lipschitz near w: the Clarke subdifferential is what Clarke defines. *)
Theorem verify_lipschitz s count v e h : verify s count v e h = true -> without_comparisons (ordered h) = true ->
  forall j, (j < length (results s))%nat -> lipschitz (size s) (real (place s)) (fun y => F_of s y j).
Proof.
  unfold verify. rewrite !andb_true_iff. intros [[R _] _] W j Hj.
  assert (Len : length (ends h) = length (results s)).
  { unfold reorders in R. rewrite !andb_true_iff in R. destruct R as [_ R]. apply same_slots_eq in R.
    rewrite <- R, map_length. auto. }
  apply (lipschitz_ext _ _ (fun y => value (size s) (ordered h) (ends h) y j)).
  - intro y. apply (reorders_value _ _ _ _ _ _ y R). lia.
  - apply value_lipschitz, W.
Qed.

(* {1 For other developments} *)

Lemma equal_diff n m F w G H : (forall j i, (j < m)%nat -> (i < n)%nat -> G j i = H j i) ->
  (forall j, (j < m)%nat -> diff_at n (fun y => F y j) w (G j)) -> forall j, (j < m)%nat -> diff_at n (fun y =>
    F y j) w (H j).
Proof. intros E D j Hj. apply (diff_ext_g n _ _ (G j)); auto. Qed.

Section AtPoint.
Variables (n : nat) (P : program) (outs : list nat) (w : list Q).
Notation F := (value n P outs).
Notation m := (length outs).

(* No argument is at a kink, no entries tie, no comparands are equal, unless identically; and AD takes the gradient. *)
Definition off_kinks := match follow (fun _ => false) P [] (start n w) with
  | Some E => match polys outs E with Some ps => equal n m (grads n ps) (ad n P outs w) | None => false end
  | None => false end.

(* Then F is differentiable at w, and AD's output is its Jacobian. *)
Theorem no_kink : off_kinks = true -> forall j, (j < m)%nat -> diff_at n (fun y => F y j) (real w) (reals (ad n P outs w) j).
Proof.
  unfold off_kinks. destruct (follow _ P [] (start n w)) as [E|] eqn:Fo; try discriminate.
  destruct (polys outs E) as [ps|] eqn:HP; try discriminate. intro H.
  pose (ev := fun Pr : pt -> Prop => exists e, 0 < e /\ forall y, N n (sub y (real w)) < e -> Pr y).
  assert (B : ev (fun y => agree n (real w) E (runR (map y (seq 0 n)) P) y)).
  { apply (follow_sound n (real w) ev) with (rising := fun _ => false) (D := []) (E := start n w); auto.
    - intros A A' [e [E1 E2]] I. exists e. split; auto.
    - intros A A' [e [E1 E2]] [e' [E1' E2']]. exists (Rmin e e'). split; [apply Rmin_glb_lt; auto|]. intros y Hy.
      pose proof (Rmin_l e e'). pose proof (Rmin_r e e'). split; [apply E2|apply E2']; lra.
    - intros e He. exists e. auto.
    - intros ds Hds. destruct ds; [|discriminate]. exists 1. split; [lra|]. intros; constructor.
    - exists 1. split; [lra|]. intros y _. split; [apply start_at|constructor]. }
  destruct B as [e [E1 E2]].
  assert (On : is_on n (real w) m F ps (real w) e).
  { intros y Hy j Hj. apply (proj2 (polys_at n (real w) outs E _ y ps HP (E2 y Hy)) j Hj). }
  apply (equal_diff n m F (real w) (fun j => pgrad n (nth j ps []) (sub (real w) (real w)))).
  - intros j i Hj Hi. rewrite <- (equal_at _ _ _ _ H j i Hj Hi). unfold reals, real at 3. rewrite nth_grads by auto.
    replace (sub (real w) (real w)) with origin; auto. apply FunctionalExtensionality.functional_extensionality.
    intro k. unfold sub, origin. ring.
  - apply (is_on_diff n (real w) m F ps (real w) e); auto.
Qed.

(* A convex combination of limits of gradients, whatever the arcs: AD's output is in the Clarke subdifferential at w. *)
Theorem ad_in_clarke cells : check_hull n P outs w (duals n P outs w) cells = true ->
  Clarke n m F (real w) (reals (ad n P outs w)).
Proof. apply hull_sound. Qed.

(* One arc with AD's output: a limit of gradients. *)
Theorem ad_in_bouligand steps : check_ad n P outs w (duals n P outs w) steps = true ->
  Bouligand n m F (real w) (reals (ad n P outs w)).
Proof. apply ad_sound. Qed.
End AtPoint.
