(* The order in which a program is executed on demand (docs/programs.md): arguments first, of a branch the comparands, then
   its arms, each guarded. A hint: the kernel compares it with the program. *)
open Verified_kernel
module Slots = Map.Make (Int)

let hints (s : source) =
  let body = Array.of_list (List.map snd s.body) and n = s.size in
  let code = ref [] and labels = ref [] and next = ref n and met = Hashtbl.create 97 in
  let done_ = Hashtbl.create 97 and values = Array.of_list (List.map fst (runD (inputs n s.place) s.body)) in
  let value slot = values.(match Hashtbl.find_opt done_ slot with Some (v, _) -> v | None -> slot) in
  (* what is 0 at the point, without factors that are not: c times the factors times the slot *)
  let without_factors slot =
    let rec go c factors slot = match Hashtbl.find_opt done_ slot with
      | _ when Q.sign (value slot) <> 0 -> (c, factors, slot)
      | Some (_, Lin (b, [(q, k)])) when Q.sign b = 0 && Q.sign q <> 0 -> go (Q.mul c q) factors k
      | Some (_, Mul (i, j)) when Q.sign (value i) = 0 && Q.sign (value j) <> 0 -> go c (j :: factors) i
      | Some (_, Mul (i, j)) when Q.sign (value j) = 0 && Q.sign (value i) <> 0 -> go c (i :: factors) j
      | _ -> (c, factors, slot) in
    match go Q.one [] slot with _, _, k when k = slot -> None | c, factors, k -> Some ((c, factors), k) in
  let emit guards v o =
    let factored = match o with Kink (i, _, _, _) -> without_factors i | _ -> None in
    code := ({ guards; again = Hashtbl.mem met v; factored }, o) :: !code;
    Hashtbl.replace met v ();
    Hashtbl.replace done_ !next (v, o); labels := v :: !labels; incr next; !next - 1 in
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
        | Kth (r, l, u, beta) -> let known, l = all guards known l (List.map ignore l) in (known, Kth (r, List.map snd l,
          u, beta))
        | Test (t, i, j) -> let i, known = demand guards known i in let j, known = demand guards known j in (known,
          Test (t, i, j)) in
      let slot = emit guards v o in
      (slot, Slots.add v slot known)
  and all : 'a. (int * bool) list -> int Slots.t -> int list -> 'a list ->
    int Slots.t * ('a * int) list = fun guards known l tags ->
    let known, slots = List.fold_left (fun (known, slots) v -> let v, known = demand guards known v in (known,
      v :: slots)) (known, []) l in
    (known, List.combine tags (List.rev slots)) in
  let _, ends = all [] Slots.empty s.results (List.map ignore s.results) in
  (* points at which a decision that is not 0 everywhere is, most likely, not 0 *)
  let seed = ref 12345 in
  let draw _ = seed := ((!seed * 1103515245) + 12345) land 0x3fffffff; Q.of_ints ((!seed lsr 8) - 2097152) 1 in
  { ordered = List.rev !code; labels = List.rev !labels; ends = List.map snd ends; tests = List.init 2 (fun _ ->
    List.init n draw) }
