(* What the theorems speak of: differentiability, the Bouligand and the Clarke subdifferential, by the textbook's
   definitions over the reals. Trusted: whoever doubts a theorem reads this file and Program.v. *)
From Coq Require Import Reals List.
Import ListNotations.
Open Scope R_scope.

(* A point has a coordinate for every number; in n dimensions those below n count. *)
Definition pt := nat -> R.

Fixpoint sum (n : nat) (f : nat -> R) : R := match n with O => 0 | S k => sum k f + f k end.
Definition dot n (g h : pt) := sum n (fun i => g i * h i).
(* The 1-norm; in finite dimension any norm gives the same limits. *)
Definition N n (h : pt) := sum n (fun i => Rabs (h i)).
Definition sub (y x : pt) : pt := fun i => y i - x i.

(* f is differentiable at x, with the gradient g (Frechet). *)
Definition diff_at n (f : pt -> R) (x g : pt) :=
  forall e, 0 < e -> exists d, 0 < d /\ forall y, N n (sub y x) < d ->
    Rabs (f y - f x - dot n g (sub y x)) <= e * N n (sub y x).

(* A function of m outputs, and its Jacobian: row j is the gradient of output j. *)
Definition map_ := pt -> nat -> R.
Definition jacobian := nat -> pt.

(* G is a limit of Jacobians of F at points of differentiability that tend to w. *)
Definition Bouligand n m (F : map_) (w : pt) (G : jacobian) :=
  forall e, 0 < e -> exists x G', N n (sub x w) < e /\
    (forall j, (j < m)%nat -> diff_at n (fun y => F y j) x (G' j)) /\
    forall j i, (j < m)%nat -> (i < n)%nat -> Rabs (G' j i - G j i) < e.

(* G is a convex combination of such limits. *)
Definition weights (l : list (R * jacobian)) := fold_right (fun c s => fst c + s) 0 l.
Definition combine (l : list (R * jacobian)) j i := fold_right (fun c s => fst c * snd c j i + s) 0 l.
Definition Clarke n m (F : map_) (w : pt) (G : jacobian) := exists l : list (R * jacobian),
  Forall (fun c => 0 <= fst c /\ Bouligand n m F w (snd c)) l /\ weights l = 1 /\
  forall j i, (j < m)%nat -> (i < n)%nat -> G j i = combine l j i.
