(* How another development uses the theorems: at a point, by computation. *)
From Coq Require Import QArith Reals List.
From Clarke Require Import Space Numbers Program Verdict.
Import ListNotations.
Local Open Scope Q_scope.

(* F(x, y) = relu(x) - relu(-y), AD's slope at 0 being 0. *)
Definition difference : program := map (fun o => (no_hint, o))
  [Kink 0 0 1 0; Lin 0 [(-1, 1%nat)]; Kink 3 0 1 0; Lin 0 [(1, 2%nat); (-1, 4%nat)]].

(* At (1, -2) no argument is 0: F is differentiable, and AD's output is its gradient. *)
Example off_the_kinks : diff_at 2 (fun y => value 2 difference [5%nat] y 0%nat) (real [1; -2])
  (reals (ad 2 difference [5%nat] [1; -2]) 0%nat).
Proof. apply no_kink; [vm_compute; reflexivity|auto]. Qed.

(* At (0, 0) both are. AD returns (0, 0), the gradient for x < 0 and y > 0: the arc t (-1, 1) shows it. *)
Example at_the_kinks : Bouligand 2 1 (value 2 difference [5%nat]) (real [0; 0]) (reals (ad 2 difference [5%nat] [0; 0])).
Proof. apply (ad_in_bouligand 2 difference [5%nat] [0; 0] [[-1; 1]]). vm_compute. reflexivity. Qed.

(* With the slopes 1/2 it returns (1/2, 1/2): half of each of two gradients, (0, 0) and (1, 1). *)
Definition halves : program := map (fun o => (no_hint, o))
  [Kink 0 0 1 (1 # 2); Lin 0 [(-1, 1%nat)]; Kink 3 0 1 (1 # 2); Lin 0 [(1, 2%nat); (-1, 4%nat)]].
Example in_the_hull : Clarke 2 1 (value 2 halves [5%nat]) (real [0; 0]) (reals (ad 2 halves [5%nat] [0; 0])).
Proof. apply (ad_in_clarke 2 halves [5%nat] [0; 0] [(1 # 2, [[-1; 1]]); (1 # 2, [[1; -1]])]). vm_compute. reflexivity. Qed.
