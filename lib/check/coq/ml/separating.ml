(* The tree of a program's cells near the point. A branch that no point follows is dead, if rows of decisions show it. A hint: the
   kernel goes through the tree itself. *)
open Verified_kernel

(* Positive multiples of some rows that add up to 0, one variable after another: numbers of rows, with what they count. *)
let closing rows n =
  let add a b = Array.map2 Q.add a b and scale c = Array.map (Q.mul c) in
  let k = List.length rows in
  let start = List.mapi (fun i row -> (row, Array.init k (fun j -> if i = j then Q.one else Q.zero))) rows in
  let without i rows =
    let sign s = List.filter (fun (row, _) -> Q.sign row.(i) = s) rows in
    let both (a, u) (b, v) = let p = Q.neg b.(i) and q = a.(i) in (add (scale p a) (scale q b), add (scale p u) (scale q v)) in
    sign 0 @ List.concat_map (fun x -> List.map (both x) (sign (-1))) (sign 1) in
  let rec go i rows = if i = n || List.length rows > 2000 then rows else go (i + 1) (without i rows) in
  match List.find_opt (fun (row, _) -> Array.for_all (fun q -> Q.sign q = 0) row) (go 0 start) with
  | None -> None
  | Some (_, u) -> Some (List.filter (fun (_, q) -> Q.sign q > 0) (List.mapi (fun i q -> (i, q)) (Array.to_list u)))

(* Of decisions that are linear, but for a factor. *)
let dead decisions n =
  let linear (i, d) = match straight d with
    | [] -> None
    | d when List.for_all (fun (_, m) -> List.length m = 1) d ->
      let row = Array.make n Q.zero in
      List.iter (fun (c, m) -> row.(List.hd m) <- Q.add row.(List.hd m) c) d; Some (i, row)
    | _ -> None in
  let known = List.filter_map linear (List.mapi (fun i d -> (i, d)) decisions) in
  Option.map (List.map (fun (i, q) -> (fst (List.nth known i), q))) (closing (List.map snd known) n)

let most = 4096

let tree (s : source) (h : hints) =
  let leaves = ref 0 in
  let rec grow program decisions entries = match program with
    | [] -> incr leaves; if !leaves > most then Proof_file.outside "a network of more than %d cells" most; Leaf
    | (g, _) :: rest when skipped g entries -> grow rest decisions (entries @ [None])
    | (g, o) :: rest -> resolve (decide g decisions entries o) decisions (fun x d -> grow rest d (entries @ [x]))
  and resolve c decisions k = match c with
    | Done x -> k x decisions
    | End -> Leaf
    | Or _ -> Branch (children c decisions k)
  and children c decisions k = match c with
    | Or (ds, c, others) ->
      let d = decisions @ ds in
      (match dead d s.size with Some l -> Dead l | None -> resolve c d k) :: children others decisions k
    | Done _ | End -> [] in
  grow h.ordered [] (start s.size s.place)
