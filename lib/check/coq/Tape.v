(* Tapes (docs/tape.md): networks as numbered steps. What they mean over the reals, and the program that one is. *)
From Coq Require Import QArith Qreals Reals Lra Lia String List Bool.
From Clarke Require Import Space Numbers Program Rank Text Store.
Import ListNotations.
Open Scope R_scope.

(* A factor: a number, perhaps times an entry of a parameter. A source: a feature of an earlier step, 1, or nothing. *)
Inductive source_ := Of (s f : nat) | One | Pad.
Definition factor := (Q * option (nat * nat))%type.
Definition row := list (factor * source_).
(* Each feature has a row of terms; Piecewise and Window read the sources alone, Piecewise one. *)
Inductive step :=
| Linear (rows : list row)
| Product (rows : list row)                                        (* two sources after two are multiplied *)
| Window (op : string) (rows : list row)
| Piecewise (op : string) (kinks : list (nat * Q)) (pieces : list (Q * Q)) (rows : list row). (* c0 + c1 x on each piece *)

(* Samples, each with the features of step 0; parameters; the steps after that one; the output, features of a step. *)
Record tape := { samples : list (list Q); parameters : list (string * list Q); steps : list step; last_step : nat;
  last_features : list nat }.

(* {1 Meaning} *)

(* Of parameters the entries at x; those that do not vary are at what is stored. A parameter's first entry is number `first`
   of all that vary. *)
Definition place_of := (option nat * list Q)%type.
Definition entryR (ps : list place_of) (x : pt) (at_ : nat * nat) : R := match nth (fst at_) ps (None, []) with
  | (Some first, _) => x (first + snd at_)%nat
  | (None, l) => Q2R (nth (snd at_) l 0%Q) end.
Definition factorR ps x (c : factor) : R := Q2R (fst c) * match snd c with Some e => entryR ps x e | None => 1 end.
Definition sourceR (done : list (list R)) (s : source_) : R := match s with
  | Of k f => nth f (nth k done []) 0 | One => 1 | Pad => 0 end.
Definition linearR ps x done (r : row) : R := fold_right (fun t a => factorR ps x (fst t) * sourceR done (snd t) + a) 0 r.
Fixpoint productsR done (r : row) : R := match r with
  | (_, a) :: (_, b) :: r' => sourceR done a * sourceR done b + productsR done r' | _ => 0 end.
Definition is_pad (s : source_) := match s with Pad => true | _ => false end.
Definition present (r : row) : list source_ := filter (fun s => negb (is_pad s)) (map snd r).
Definition windowR done (r : row) : R := kthR 1 (map (sourceR done) (present r)).
Definition onR (p : Q * Q) (x : R) : R := Q2R (fst p) + Q2R (snd p) * x.
Fixpoint pieceR (kinks : list (nat * Q)) (pieces : list (Q * Q)) (x : R) : R := match kinks, pieces with
  | (_, a) :: kinks', p :: pieces' => if Rlt_dec x (Q2R a) then onR p x else pieceR kinks' pieces' x
  | _, p :: _ => onR p x | _, [] => 0 end.
Definition only (r : row) : source_ := match r with (_, s) :: _ => s | [] => Pad end.
Definition featuresR ps x done (s : step) : list R := match s with
  | Linear rows => map (linearR ps x done) rows
  | Product rows => map (productsR done) rows
  | Window _ rows => map (windowR done) rows
  | Piecewise _ kinks pieces rows => map (fun r => pieceR kinks pieces (sourceR done (only r))) rows end.
Definition sampleR ps x (t : tape) (sample : list Q) : list R :=
  let done := fold_left (fun done s => done ++ [featuresR ps x done s]) (steps t) [map Q2R sample] in
  map (fun f => nth f (nth (last_step t) done []) 0) (last_features t).

(* Of all that vary the first entries; what is stored. *)
Fixpoint places (varies : string -> bool) first (l : list (string * list Q)) : list place_of := match l with [] => []
  | (name, qs) :: l' => if varies name then (Some first, qs) :: places varies (first + length qs)%nat l'
                        else (None, qs) :: places varies first l' end.
Definition stored (varies : string -> bool) (t : tape) : list Q :=
  flat_map (fun p : string * list Q => if varies (fst p) then snd p else []) (parameters t).
(* F: the outputs of all samples, end to end, at parameters x. *)
Definition tape_value varies (t : tape) : map_ := fun x j =>
  nth j (flat_map (sampleR (places varies 0 (parameters t)) x t) (samples t)) 0.

(* {1 The program} *)

(* What is written so far, the last first; and the next slot. *)
Definition machine := (list instr * nat)%type.
Definition write o (m : machine) : nat * machine := (snd m, (o :: fst m, S (snd m))).
Definition slot_for v (m : machine) : nat * machine := match v with Slot k => (k, m) | Const q => write (Lin q []) m end.
Fixpoint slots_for l (m : machine) : list nat * machine := match l with [] => ([], m)
  | v :: l' => let (k, m1) := slot_for v m in let (ks, m2) := slots_for l' m1 in (k :: ks, m2) end.

(* Numbers and slots of features of steps that are done; of parameters where they begin. *)
Definition done_ := tree (tree num).
Definition stored_at := tree (option nat * tree Q).
Definition source_num (D : done_) (s : source_) : option num := match s with
  | Of k f => match find k D with Some T => find f T | None => None end
  | One => Some (Const 1) | Pad => Some (Const 0) end.
Definition factor_num (ps : stored_at) (c : factor) : option num := match snd c with
  | None => Some (Const 1)
  | Some (p, e) => match find p ps with
    | Some (Some first, T) => match find e T with Some _ => Some (Slot (first + e)) | None => None end
    | Some (None, T) => match find e T with Some q => Some (Const q) | None => None end
    | None => None end end.
(* c times u v, added to the constant q and the terms l. *)
Definition add_term c u v q (l : list (Q * nat)) m : Q * list (Q * nat) * machine := match u, v with
  | Const a, Const b => (qadd q (qmul c (qmul a b)), l, m)
  | Const a, Slot k | Slot k, Const a => if qz (qmul c a) then (q, l, m) else (q, (qmul c a, k) :: l, m)
  | Slot i, Slot j => if qz c then (q, l, m) else let (k, m') := write (Mul i j) m in (q, (c, k) :: l, m') end.
Fixpoint add_terms ps D (r : row) q l m : option (Q * list (Q * nat) * machine) := match r with [] => Some (q, l, m)
  | (c, s) :: r' => match factor_num ps c, source_num D s with
    | Some u, Some v => let '(q', l', m') := add_term (fst c) u v q l m in add_terms ps D r' q' l' m'
    | _, _ => None end end.
Definition end_sum (x : Q * list (Q * nat) * machine) : num * machine := let '(q, l, m) := x in match l with
  | [] => (Const q, m) | _ => let (k, m') := write (Lin q l) m in (Slot k, m') end.
Definition linear_num ps D r m : option (num * machine) := match add_terms ps D r 0 [] m with
  | Some x => Some (end_sum x) | None => None end.
Fixpoint add_products D (r : row) q l m : option (Q * list (Q * nat) * machine) := match r with
  | [] => Some (q, l, m)
  | (_, a) :: (_, b) :: r' => match source_num D a, source_num D b with
    | Some u, Some v => let '(q', l', m') := add_term 1 u v q l m in add_products D r' q' l' m'
    | _, _ => None end
  | _ => None end.
Definition product_num D r m : option (num * machine) := match add_products D r 0 [] m with
  | Some x => Some (end_sum x) | None => None end.
Fixpoint source_nums D (l : list source_) : option (list num) := match l with [] => Some []
  | s :: l' => match source_num D s, source_nums D l' with Some v, Some vs => Some (v :: vs) | _, _ => None end end.
Definition window_num D (u : pick) beta r m : option (num * machine) := match source_nums D (present r) with
  | Some (v :: vs) => let (ks, m1) := slots_for (v :: vs) m in let (k, m2) := write (Kth 1 ks u beta) m1 in Some (Slot k, m2)
  | _ => None end.
(* At kinks behind one another: the first piece, and for each kink a kink at 0 of x less its place. AD's slopes: ps. *)
Fixpoint add_kinks i (kinks : list (nat * Q)) (slopes ps : list Q) before m : list (Q * nat) * machine := match kinks, slopes,
  ps with
  | (_, a) :: kinks', s :: slopes', p :: ps' =>
      let (y, m1) := write (Lin (qmul (-1) a) [(1%Q, i)]) m in
      let (k, m2) := write (Kink y 0 (qsub s before) (qsub p before)) m1 in
      let (l, m3) := add_kinks i kinks' slopes' ps' s m2 in ((1%Q, k) :: l, m3)
  | _, _, _ => ([], m) end.
Definition piece_num kinks (pieces : list (Q * Q)) (ps : list Q) v m : option (num * machine) := match pieces with
  | p :: pieces' => let (i, m1) := slot_for v m in
      match kinks, pieces', ps with
      | [(_, a)], [q], [s] => if qz a && qz (fst p) && qz (fst q)
          then let (k, m2) := write (Kink i (snd p) (snd q) s) m1 in Some (Slot k, m2)
          else let (l, m2) := add_kinks i kinks [snd q] [s] (snd p) m1 in
               let (k, m3) := write (Lin (fst p) ((snd p, i) :: l)) m2 in Some (Slot k, m3)
      | _, _, _ => let (l, m2) := add_kinks i kinks (map snd pieces') ps (snd p) m1 in
          let (k, m3) := write (Lin (fst p) ((snd p, i) :: l)) m2 in Some (Slot k, m3) end
  | [] => None end.
(* One piece goes over into the next, and kinks come in their order. *)
Definition on_ (p : Q * Q) x := qadd (fst p) (qmul (snd p) x).
Fixpoint joins (kinks : list (nat * Q)) (pieces : list (Q * Q)) : bool := match kinks, pieces with
  | [], [_] => true
  | (_, a) :: kinks', p :: pieces' => match pieces' with
      | q :: _ => Qeq_bool (on_ p a) (on_ q a) | [] => false end
      && match kinks' with (_, b) :: _ => match (a ?= b)%Q with Lt => true | _ => false end | [] => true end
      && joins kinks' pieces'
  | _, _ => false end.
Fixpoint ad_slopes (r : rules) op (kinks : list (nat * Q)) (pieces : list (Q * Q)) : option (list Q) := match kinks, pieces with
  | (k, _) :: kinks', p :: pieces' =>
      match slope_at r NoBrace op k (snd p) (snd (hd (0, 0)%Q pieces')), ad_slopes r op kinks' pieces' with
      | Some s, Some l => Some (s :: l) | _, _ => None end
  | _, _ => Some [] end.

Fixpoint each_row (f : row -> machine -> option (num * machine)) (rows : list row) k T m : option (tree num * machine) :=
  match rows with [] => Some (T, m)
  | r :: rows' => match f r m with Some (v, m') => each_row f rows' (S k) (put k v T) m' | None => None end end.
Definition step_nums rl ps D (s : step) m : option (tree num * machine) := match s with
  | Linear rows => each_row (linear_num ps D) rows 0 Empty m
  | Product rows => each_row (product_num D) rows 0 Empty m
  | Window op rows => match tie_rule rl NoBrace op with
      | Some (u, beta) => each_row (window_num D u beta) rows 0 Empty m | None => None end
  | Piecewise op kinks pieces rows => match ad_slopes rl op kinks pieces with
      | Some slopes => if joins kinks pieces
          then each_row (fun r m => match source_num D (only r) with
            | Some v => piece_num kinks pieces slopes v m | None => None end) rows 0 Empty m
          else None
      | None => None end end.
Fixpoint steps_nums rl ps (l : list step) k D m : option (done_ * machine) := match l with [] => Some (D, m)
  | s :: l' => match step_nums rl ps D s m with
    | Some (T, m') => steps_nums rl ps l' (S k) (put k T D) m' | None => None end end.
Fixpoint load_from {A} (l : list A) k T : tree A := match l with [] => T | x :: l' => load_from l' (S k) (put k x T) end.
Fixpoint outputs_of (T : tree num) (l : list nat) m : option (list nat * machine) := match l with [] => Some ([], m)
  | f :: l' => match find f T with
    | Some v => let (k, m1) := slot_for v m in match outputs_of T l' m1 with
      | Some (ks, m2) => Some (k :: ks, m2) | None => None end
    | None => None end end.
Definition sample_nums rl ps (t : tape) (sample : list Q) m : option (list nat * machine) :=
  match steps_nums rl ps (steps t) 1 (put 0 (load_from (map Const sample) 0 Empty) Empty) m with
  | Some (D, m') => match find (last_step t) D with Some T => outputs_of T (last_features t) m' | None => None end
  | None => None end.
Fixpoint samples_nums rl ps t (l : list (list Q)) m : option (list nat * machine) := match l with [] => Some ([], m)
  | q :: l' => match sample_nums rl ps t q m with
    | Some (ks, m1) => match samples_nums rl ps t l' m1 with Some (js, m2) => Some (ks ++ js, m2) | None => None end
    | None => None end end.
Definition stores (l : list place_of) : stored_at := load_from (map (fun p => (fst p, load_from (snd p) 0 Empty)) l) 0 Empty.
Definition program_of (code : list instr) : program := fold_left (fun P o => (no_hint, o) :: P) code [].
(* The program of a tape, with its outputs. *)
Definition unroll rl varies (t : tape) : option (program * list nat) :=
  match samples_nums rl (stores (places varies 0 (parameters t))) t (samples t) ([], length (stored varies t)) with
  | Some (outs, (code, _)) => Some (program_of code, outs) | None => None end.
