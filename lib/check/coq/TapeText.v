(* The text of a whole tape (docs/tape.md), read. None: it is no such text, or has steps that are outside of what Tape.v has.
   Hashes are not looked at here, and shapes only by what they count. *)
From Coq Require Import QArith Ascii String List Bool.
From Clarke Require Import Numbers Program Text Store Gate Tape Loss.
Import ListNotations.
Local Open Scope nat_scope.
Local Open Scope char_scope.

(* {1 Lines of words} *)

Definition letters := list ascii.
(* What was read: of this word, of this line, lines; each the last first. *)
Definition split_at (s : letters * list letters * list (list letters)) (c : ascii) := let '(w, ws, ls) := s in
  if Ascii.eqb c newline then ([], [], rev' (rev' w :: ws) :: ls)
  else if Ascii.eqb c " " then ([], rev' w :: ws, ls) else (c :: w, ws, ls).
Definition lines_of (t : list ascii) : option (list (list letters)) :=
  match fold_left split_at t ([], [], []) with ([], [], ls) => Some (rev' ls) | _ => None end.
Definition is (s : string) (w : letters) := String.eqb s (string_of_list_ascii w).
Definition nonempty {A} (l : list A) := match l with [] => false | _ => true end.

Definition natural (w : letters) : option nat := if nonempty w && forallb digit w
  then Some (fold_left (fun n c => 10 * n + (nat_of_ascii c - 48)) w 0) else None.
Definition integer (w : letters) : option Z :=
  let (minus, d) := match w with c :: r => if Ascii.eqb c "-" then (true, r) else (false, w) | [] => (false, w) end in
  if nonempty d && forallb digit d then let z := digits_value d in Some (if minus then (- z)%Z else z) else None.
(* What is before the first c, and behind it. *)
Definition cut c (w : letters) : letters * option letters := let (a, b) := span (fun e => negb (Ascii.eqb e c)) w in
  (a, match b with _ :: r => Some r | [] => None end).
Definition rational (w : letters) : option Q := let (a, b) := cut "/" w in
  n <- integer a ;; match b with
  | None => Some (Qred (Qmake n 1))
  | Some b => d <- integer b ;; if (0 <? d)%Z && forallb digit b then Some (Qred (Qmake n (Z.to_pos d))) else None end.
Definition factor_of (w : letters) : option factor := let (a, b) := cut "*" w in
  c <- rational a ;; match b with
  | None => Some (c, None)
  | Some b => let (p, e) := cut "@" b in match e with
    | None => q <- rational b ;; Some (qmul c q, None)
    | Some e => p <- natural p ;; e <- natural e ;; Some (c, Some (p, e)) end end.
(* The same where the term is divided by it: a constant divisor is known. *)
Definition divisor_of (w : letters) : option factor := let (a, b) := cut "*" w in match b with
  | None => factor_of w
  | Some b => let (_, e) := cut "@" b in match e with
    | None => c <- rational a ;; q <- rational b ;; if qz q then None else Some (qmul c (Qinv q), None)
    | Some _ => factor_of w end end.
Definition source_of (w : letters) : option source_ := if is "1" w then Some One else if is "-" w then Some Pad
  else let (s, f) := cut "." w in f <- f ;; s <- natural s ;; f <- natural f ;; Some (Of s f).

(* {1 Blocks} *)

Fixpoint all_of {A} (f : letters -> option A) (l : list letters) : option (list A) := match l with [] => Some []
  | w :: l' => x <- f w ;; xs <- all_of f l' ;; Some (x :: xs) end.
Definition rest_of := list (list letters).
(* n lines that begin with a space, each read; the last first. *)
Fixpoint block {A} (f : list letters -> option A) n (acc : list A) (ls : rest_of) : option (list A * rest_of) := match n with
  | O => Some (rev' acc, ls)
  | S n' => match ls with ([] :: ws) :: ls' => x <- f ws ;; block f n' (x :: acc) ls' | _ => None end end.
Definition one_word {A} (f : letters -> option A) (ws : list letters) : option A := match ws with [w] => f w | _ => None end.
Definition numbers (n : letters) ls := k <- natural n ;; block (one_word rational) k [] ls.
Definition naturals (n : letters) ls := k <- natural n ;; block (one_word natural) k [] ls.

(* Rows of features, of the rows of factors (if there are any) and of sources. *)
Fixpoint terms (fs : list factor) (ss : list source_) : option row := match fs, ss with
  | [], [] => Some [] | f :: fs', s :: ss' => r <- terms fs' ss' ;; Some ((f, s) :: r) | _, _ => None end.
Definition weighed (F : tree (list factor)) (S : tree (list source_)) (ws : list letters) : option row := match ws with
  | [i; j] => i <- natural i ;; j <- natural j ;; fs <- find i F ;; ss <- find j S ;; terms fs ss | _ => None end.
Definition unweighed (S : tree (list source_)) (ws : list letters) : option row := match ws with
  | [j] => j <- natural j ;; ss <- find j S ;; Some (map (fun s => ((1%Q, None), s)) ss) | _ => None end.
(* `of W factors A HASH sources B HASH features C HASH`: rows of W terms, as many as features. *)
Definition rows_with (of_factor : letters -> option factor) n (ws : list letters) (ls : rest_of) :
  option (list row * rest_of) := match ws with
  | [o; w; f; a; _; s; b; _; g; c; _] => if is "of" o && is "factors" f && is "sources" s && is "features" g then
      n <- natural n ;; c <- natural c ;; w <- natural w ;; a <- natural a ;; b <- natural b ;;
      '(fs, l1) <- block (all_of of_factor) a [] ls ;; '(ss, l2) <- block (all_of source_of) b [] l1 ;;
      '(rows, l3) <- block (weighed (load_from fs 0 Empty) (load_from ss 0 Empty)) c [] l2 ;;
      if Nat.eqb n c && forallb (fun r : row => Nat.eqb (length r) w) rows then Some (rows, l3) else None else None
  | _ => None end.
Definition rows_without n (ws : list letters) (ls : rest_of) : option (list row * rest_of) := match ws with
  | [o; w; s; b; _; g; c; _] => if is "of" o && is "sources" s && is "features" g then
      n <- natural n ;; c <- natural c ;; w <- natural w ;; b <- natural b ;; '(ss, l1) <- block (all_of source_of) b [] ls ;;
      '(rows, l2) <- block (unweighed (load_from ss 0 Empty)) c [] l1 ;;
      if Nat.eqb n c && forallb (fun r : row => Nat.eqb (length r) w) rows then Some (rows, l2) else None else None
  | _ => None end.

(* {1 Steps} *)

(* So many rows of so many numbers. *)
Fixpoint rows_of (count width : nat) (l : list Q) : option (list (list Q)) := match count with
  | O => match l with [] => Some [] | _ => None end
  | S count' => if Nat.ltb (length l) width then None else
      r <- rows_of count' width (skipn width l) ;; Some (firstn width l :: r) end.

Fixpoint kinks_of fuel (ws : list letters) : option (list (nat * Q) * list letters) := match fuel, ws with
  | S fuel', k :: a :: q :: ws' => if is "at" a then k <- natural k ;; q <- rational q ;; '(l, r) <- kinks_of fuel' ws' ;;
      Some ((k, q) :: l, r) else Some ([], ws)
  | _, _ => Some ([], ws) end.
(* Three numbers a piece. *)
Fixpoint pieces_of fuel (ws : list letters) : option (list piece * list letters) := match fuel with O => Some ([], ws)
  | S fuel' => match ws with
    | a :: b :: c :: ws' => a <- rational a ;; b <- rational b ;; c <- rational c ;;
        '(l, r) <- pieces_of fuel' ws' ;; Some ((a, b, c) :: l, r)
    | _ => None end end.
(* A piecewise step's weight is the slope of its first piece, also where it is 1. *)
Definition no_weight (w : letters) : option factor := if is "1" w then Some (1%Q, None) else None.
Definition a_weight (w : letters) : option factor := match cut "*" w with (_, Some _) => factor_of w | _ => None end.
(* Its pieces: left of 0 the weight times x, then x. *)
Definition leaks (kinks : list (nat * Q)) (pieces : list piece) : option nat := match kinks, pieces with
  | [(k, a)], [p; q] => if qz a && through_0 p && through_0 q && Qeq_bool (c1 q) 1 then Some k else None | _, _ => None end.
Definition single (r : row) : bool := match r with [(_, s)] => negb (is_pad s) | _ => false end.
(* `lines of L by D of 1 ...`, or with a word before the second `of`: `coupled`, and of a softmax `logarithm`. *)
Definition lines_with (log : bool) n (ws : list letters) (ls : rest_of) : option (lines * list row * rest_of) := match ws with
  | w :: o :: len :: b :: d :: ws' => if is "lines" w && is "of" o && is "by" b then
      len <- natural len ;; d <- natural d ;; ws' <- (if log then match ws' with
        | c :: ws'' => if is "logarithm" c then Some ws'' else None | [] => None end else Some ws') ;;
          let coupled := match ws' with c :: _ => is "coupled" c | [] => false end in
      '(rows, l) <- rows_without n (if coupled then tl ws' else ws') ls ;;
      if forallb single rows && Nat.ltb 0 (len * d) && Nat.eqb (Nat.modulo (length rows) (len * d)) 0
        then Some (if coupled then All 1 (length rows) len d else By len d, rows, l) else None else None
  | _ => None end.
Definition function_of (w : letters) : option function_ :=
  if is "exp" w then Some (Basic Exp) else if is "log" w then Some (Basic Log) else if is "root" w then Some (Basic Root)
  else if is "reciprocal" w then Some (Basic Inverse) else if is "elu" w then Some (Basic Elu)
  else if is "above" w then Some (Basic Above) else if is "softplus" w then Some Softplus else None.
Definition step_of (ws : list letters) (ls : rest_of) : option (step * rest_of) := match ws with
  | kind :: n :: ws' => if is "linear" kind then match rows_with factor_of n ws' ls with
        | Some (rows, l) => Some (Linear rows, l)
        | None => match ws' with
          | d :: ws'' => if is "dividing" d then '(rows, l) <- rows_with divisor_of n ws'' ls ;;
            Some (Dividing rows, l) else None
          | [] => None end end
      else if is "product" kind then '(rows, l) <- rows_without n ws' ls ;;
        if forallb (fun r : row => forallb (fun t => negb (is_pad (snd t))) r) rows then Some (Product rows, l) else None
      else if is "window" kind then match ws' with
        | op :: ws'' => '(rows, l) <- rows_without n ws'' ls ;; Some (Window (string_of_list_ascii op) rows, l) | [] => None end
      else if is "piecewise" kind then match ws' with
        | op :: k :: ws'' => if negb (is "kinks" k) then None else
            '(kinks, r) <- kinks_of (length ws'') ws'' ;; match r with
            | p :: r' => if negb (is "pieces" p) then None else '(pieces, r'') <- pieces_of (S (length kinks)) r' ;;
                let op := string_of_list_ascii op in match rows_with no_weight n r'' ls with
                | Some (rows, l) => if forallb single rows then Some (Piecewise op kinks pieces rows, l) else None
                | None => '(rows, l) <- rows_with a_weight n r'' ls ;; k <- leaks kinks pieces ;;
                    if forallb single rows then Some (Leaky op k rows, l) else None end
            | [] => None end
        | _ => None end
      else if is "over-root" kind then match ws' with
        | eps :: ws'' => eps <- rational eps ;; '(rows, l) <- rows_with factor_of n ws'' ls ;;
            if forallb single rows then Some (OverRoot eps rows, l) else None
        | [] => None end
      else if is "function" kind then match ws' with
        | name :: ws'' => f <- function_of name ;; '(rows, l) <- rows_without n ws'' ls ;;
            if forallb single rows then Some (Function f rows, l) else None
        | [] => None end
      else if is "softmax" kind then match lines_with false n ws' ls with
        | Some (x, rows, l) => Some (Softmax x rows, l)
        | None => '(x, rows, l) <- lines_with true n ws' ls ;; Some (LogSoftmax x rows, l) end
      else if is "normalize" kind then match ws' with
        | eps :: ws'' => eps <- rational eps ;; '(x, rows, l) <- lines_with false n ws'' ls ;; Some (Normalize eps x rows, l)
        | [] => None end
      else None
  | _ => None end.
(* Of each sample so many entries more. A step that is an input has these: they are features of step 0 behind x's. *)
Fixpoint beside {A} (xs more : list (list A)) : list (list A) := match xs, more with
  | x :: xs', q :: more' => (x ++ q) :: beside xs' more' | _, _ => [] end.
Definition entries_behind at_ n : list row := map (fun j => [((1%Q, None), Of 0 (at_ + j))]) (seq 0 n).
Definition given_of (xs : list (list Q)) (ws : list letters) (ls : rest_of) : option (list (list Q) * step * rest_of) :=
  match ws with
  | [i; n; _; v; c; _] => if is "input" i && is "values" v then
      n <- natural n ;; '(qs, l) <- numbers c ls ;; more <- rows_of (length xs) n qs ;;
      Some (beside xs more, Linear (entries_behind (length (hd [] xs)) n), l) else None
  | _ => None end.
(* Other steps read no more of step 0 than x. *)
Definition reads_x width (s : step) : bool := forallb (forallb (fun t : factor * source_ => match snd t with
  | Of O f => Nat.ltb f width | _ => true end)) (rows_of_step s).
Fixpoint steps_of width fuel s xs (ls : rest_of) acc : option (list (list Q) * list step * rest_of) := match fuel, ls with
  | S fuel', (w :: k :: ws) :: ls' => if is "step" w then
      j <- natural k ;; if negb (Nat.eqb j s) then None else match given_of xs ws ls' with
        | Some (xs', x, l) => steps_of width fuel' (S s) xs' l (x :: acc)
        | None => '(x, l) <- step_of ws ls' ;; if reads_x width x then steps_of width fuel' (S s) xs l (x :: acc) else None end
    else Some (xs, rev' acc, ls)
  | _, _ => Some (xs, rev' acc, ls) end.
Fixpoint parameters_of fuel p (ls : rest_of) acc : option (list (string * list Q) * rest_of) := match fuel, ls with
  | S fuel', [w; k; name; _; v; n; _] :: ls' => if is "parameter" w && is "values" v then
      j <- natural k ;; if negb (Nat.eqb j p) then None else
      '(qs, l) <- numbers n ls' ;; parameters_of fuel' (S p) l ((string_of_list_ascii name, qs) :: acc)
    else Some (rev' acc, ls)
  | _, _ => Some (rev' acc, ls) end.

(* {1 Tapes} *)

Definition input_of samples (ls : rest_of) : option (list (list Q) * rest_of) := match ls with
  | [w; k; i; n; _; v; c; _] :: ls' => if is "step" w && is "0" k && is "input" i && is "values" v then
      n <- natural n ;; '(qs, l) <- numbers c ls' ;; rows <- rows_of samples n qs ;; Some (rows, l) else None
  | _ => None end.
(* `[2,3]`. *)
Fixpoint axes fuel (w : letters) : option (list nat) := match fuel with O => None
  | S fuel' => let (a, b) := cut "," w in n <- natural a ;; match b with
    | None => Some [n] | Some b => l <- axes fuel' b ;; Some (n :: l) end end.
Definition shape_of (w : letters) : option (list nat) := match w with
  | c :: r => if negb (Ascii.eqb c "[") then None else match rev' r with
    | d :: r' => if negb (Ascii.eqb d "]") then None else match r' with
      | [] => Some [] | _ => axes (length r') (rev' r') end
    | [] => None end
  | [] => None end.
(* Its shape, the step, its features, the model's own loss, and a label whose samples are no part of its mean. *)
Record ending := { shape : list nat; step_at : nat; kept : list nat; own_loss : string; ignored : option Q }.
Definition label_ignored (ws : list letters) : option (option Q * list letters) := match ws with
  | i :: v :: ws' => if is "ignoring" i then q <- rational v ;; Some (Some q, ws') else Some (None, ws)
  | _ => Some (None, ws) end.
Definition output_of (ls : rest_of) : option (ending * rest_of) := match ls with
  | (w :: dims :: o :: s :: k :: l :: name :: ws) :: ls' => '(v, ws') <- label_ignored ws ;; match ws' with
    | [f; n; _] => if is "output" w && is "of" o && is "step" s && is "loss" l && is "features" f then
        k <- natural k ;; dims <- shape_of dims ;; '(fs, r) <- naturals n ls' ;;
        Some ({| shape := dims; step_at := k; kept := fs; own_loss := string_of_list_ascii name; ignored := v |}, r) else None
    | _ => None end
  | _ => None end.
(* The batch's y: whether it is of integers, its shape, its entries. *)
Record targets := { integers : bool; target_shape : list nat; entries_of_y : list Q }.
Definition target_of (ls : rest_of) : option (option targets * rest_of) := match ls with
  | [w; type; dims; v; n; _] :: ls' => if is "target" w && is "values" v then
      dims <- shape_of dims ;; '(y, r) <- numbers n ls' ;;
      Some (Some {| integers := is "integer" type; target_shape := dims; entries_of_y := y |}, r) else Some (None, ls)
  | _ => Some (None, ls) end.
Definition ends (ls : rest_of) : bool := match ls with [[w; _]] => is "hash" w | _ => false end.

(* Where a label is ignored, the tape of the other samples, of which there is one, at least: the loss is of these alone.
   No step may
   couple samples. *)
Definition others (q : Q) (xs : list (list Q)) (y : list Q) := filter (fun p : list Q * Q => negb (Qeq_bool (snd p) q))
  (combine xs y).
Definition without_ignored (t : tape) (o : ending) (y : option targets) : option (tape * option targets) := match ignored o with
  | None => Some (t, y)
  | Some q => y <- y ;; let l := others q (samples t) (entries_of_y y) in
      if integers y && Nat.eqb (length (entries_of_y y)) (length (samples t)) && nonempty l && negb (existsb couples (steps t))
        && match target_shape y with [_] => true | _ => false end
      then Some ({| samples := map fst l; parameters := parameters t; steps := steps t; last_step := last_step t;
          last_features := last_features t |},
        Some {| integers := true; target_shape := [length l]; entries_of_y := map snd l |})
      else None end.

(* All samples are together in one run of the model where a step couples them. *)
Definition read_tape (text : list ascii) : option (tape * ending * option targets) :=
  ls <- lines_of text ;; match ls with
  | [t; v] :: [s; n; g; r] :: ls' => if is "tape" t && is "1" v && is "samples" s && is "together" g then
      let fuel := length ls' in
      n <- natural n ;; r <- natural r ;; '(ps, l1) <- parameters_of fuel 0 ls' [] ;; '(xs, l2) <- input_of n l1 ;;
      '(xs', ss, l3) <- steps_of (length (hd [] xs)) fuel 1 xs l2 [] ;; '(o, l4) <- output_of l3 ;; '(y, l5) <- target_of l4 ;;
      if ends l5 && (Nat.eqb n r || negb (existsb couples ss)) then
        '(t, y) <- without_ignored {| samples := xs'; parameters := ps; steps := ss; last_step := step_at o;
          last_features := kept o |} o y ;; Some (t, o, y)
      else None else None
  | _ => None end.

(* The loss that a proof names, of a tape with targets; the model's own loss must be that. *)
Definition label_of classes (q : Q) : option nat := if Pos.eqb (Qden q) 1 && (0 <=? Qnum q)%Z && (Qnum q <? Z.of_nat classes)%Z
  then Some (Z.to_nat (Qnum q)) else None.
Fixpoint labels_of classes (l : list Q) : option (list nat) := match l with [] => Some []
  | q :: l' => k <- label_of classes q ;; ks <- labels_of classes l' ;; Some (k :: ks) end.
Local Open Scope string_scope.
Definition same_shape := list_eq_dec Nat.eq_dec.
Definition loss_of (name : string) (t : tape) (o : ending) (y : option targets) : option loss :=
  let m := length (last_features t) in let s := length (samples t) in
  if negb (String.eqb (own_loss o) "none" || String.eqb (own_loss o) name) then None
  else if String.eqb name "sum" then Some Sum
  else y <- y ;; if String.eqb name "mse"
    then if same_shape (target_shape y) (s :: shape o) then Some (Mse (entries_of_y y)) else None
  else if String.eqb name "ce"
    then if integers y then if same_shape (shape o) [m] then if same_shape (target_shape y) [s]
      then ks <- labels_of m (entries_of_y y) ;; Some (Ce s m ks) else None else None else None
  else None.
