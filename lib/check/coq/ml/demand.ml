(* The order in which a program is executed on demand (docs/programs.md): arguments first, of a branch the comparands, then
   its arms, each guarded. A hint: the kernel compares it with the program. *)
open Verified_kernel
module Slots = Map.Make (Int)

let hints (s : source) =
  let body = Array.of_list (List.map snd s.body) and n = s.size in
  let code = ref [] and labels = ref [] and next = ref n and met = Hashtbl.create 97 in
  let emit guards v o =
    code := ((guards, Hashtbl.mem met v), o) :: !code; Hashtbl.replace met v (); labels := v :: !labels; incr next; !next - 1 in
  (* what was computed under the guards so far is known by its new slot *)
  let rec demand guards known v =
    if v < n then (v, known) else match Slots.find_opt v known with
    | Some slot -> (slot, known)
    | None ->
      let known, o = match body.(v - n) with
        | Sel (t, k, l) ->
          let t, known = demand guards known t in
          let k, _ = demand ((t, true) :: guards) known k in
          let l, _ = demand ((t, false) :: guards) known l in
          (known, Sel (t, k, l))
        | Lin (c, l) -> let known, l = all guards known (List.map snd l) (List.map fst l) in (known, Lin (c, l))
        | Mul (i, j) -> let i, known = demand guards known i in let j, known = demand guards known j in (known, Mul (i, j))
        | Kink (i, a, b, p) -> let i, known = demand guards known i in (known, Kink (i, a, b, p))
        | Kth (r, l, u, beta) -> let known, l = all guards known l (List.map ignore l) in (known, Kth (r, List.map snd l, u, beta))
        | Test (t, i, j) -> let i, known = demand guards known i in let j, known = demand guards known j in (known, Test (t, i, j)) in
      let slot = emit guards v o in
      (slot, Slots.add v slot known)
  and all : 'a. (int * bool) list -> int Slots.t -> int list -> 'a list -> int Slots.t * ('a * int) list = fun guards known l tags ->
    let known, slots = List.fold_left (fun (known, slots) v -> let v, known = demand guards known v in (known, v :: slots)) (known, []) l in
    (known, List.combine tags (List.rev slots)) in
  let _, ends = all [] Slots.empty s.results (List.map ignore s.results) in
  (* points at which a decision that is not 0 everywhere is, most likely, not 0 *)
  let seed = ref 12345 in
  let draw _ = seed := ((!seed * 1103515245) + 12345) land 0x3fffffff; Q.of_ints ((!seed lsr 8) - 2097152) 1 in
  { ordered = List.rev !code; labels = List.rev !labels; ends = List.map snd ends; tests = List.init 2 (fun _ -> List.init n draw) }
