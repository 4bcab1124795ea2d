(* Programs with functions: exponentials, logarithms, roots, norms, quotients. AD's numbers are no rationals there, so they are
   not computed: evidence is a direction, as of networks (Direction.v). *)
From Coq Require Import QArith Reals List Bool Ascii.
From Clarke Require Import Space Numbers Program Text Store Gate Range Direction.
Import ListNotations.
Open Scope R_scope.

(* Is the gate's argument at its kink, or do its entries tie? What none is certainly above is the largest. *)
Definition is_touched (T : store) g : bool := match g with
  | Plain (Kink i a b _) => match find i T with
    | Some x => match rsgn (at_w x) with Some Eq => negb (Qeq_bool a b) | _ => false end | None => false end
  | Plain (Kth _ l _ _) => match finds l T with None => false
    | Some xs => Nat.ltb 1 (length (filter (fun x => forallb (fun y => negb (below y x)) xs) xs)) end
  | _ => false end.
(* From the last gate back: is it asked for, and touched? *)
Fixpoint count_touched (T : store) (l : list (nat * gate)) (asked : list nat) : nat := match l with [] => 0%nat
  | (k, g) :: l' => if existsb (Nat.eqb k) asked
      then ((if is_touched T g then 1 else 0) + count_touched T l' (gate_args g ++ asked))%nat else count_touched T l' asked
        end.
Definition touched_gates (s : written_source) (T : store) : nat :=
  count_touched T (rev (List.combine (seq (inputs_of s) (length (gates s))) (gates s))) (ends_of s).

(* A program's text, the point, AD's rules; the number of touched instructions; a direction, with hints. *)
Definition verify_functions (s : written_source) (count : nat) (d : list Q) (hints : list nat) : bool :=
  check_direction (inputs_of s) (gates s) (ends_of s) (point_of s) d hints &&
  match follow_direction (gates s) hints (inputs_of s) (load (entries_of (inputs_of s) (point_of s) d) 0 Empty) with
  | Some T => Nat.eqb count (touched_gates s T) | None => false end.
Definition check_functions (r : rules) (p : point) (text : list ascii) count d hints : bool := match parse_gates r p text with
  | Some s => verify_functions s count d hints | None => false end.

(* AD's output is a limit of Jacobians, at points that tend to the given one. *)
Theorem functions_sound r p text count d hints : check_functions r p text count d hints = true ->
  exists s, parse_gates r p text = Some s /\ forall e log root, elementary e log root ->
    Bouligand (inputs_of s) (length (ends_of s)) (gates_value e log root (inputs_of s) (gates s) (ends_of s)) (real (point_of
      s))
      (adR e log root (inputs_of s) (gates s) (ends_of s) (real (point_of s))).
Proof.
  unfold check_functions, verify_functions. destruct (parse_gates r p text) as [s|]; try discriminate. intro H.
  apply andb_true_iff in H as [H _]. exists s. split; auto. intros e log root Laws.
  exact (proj1 (direction_sound e log root Laws _ _ d _ _ hints H)).
Qed.
