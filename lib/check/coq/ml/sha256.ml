(* SHA-256 (FIPS 180-4) of a string, in hexadecimal. Words are of 32 bits, in OCaml's integers of 63. *)
let mask = 0xffffffff
let rotate x k = ((x lsr k) lor (x lsl (32 - k))) land mask

(* The first 32 bits of the fractional parts of the k-th roots of the first primes. *)
let constants root count =
  let is_prime p = let rec go d = d * d > p || (p mod d <> 0 && go (d + 1)) in go 2 in
  let power z = let rec go k = if k = 0 then Z.one else Z.mul z (go (k - 1)) in go root in
  let fraction p = (* the floor of 2^32 times the root of p: bit after bit *)
    let target = Z.shift_left (Z.of_int p) (32 * root) in
    let rec go z bit = if bit < 0 then z else
      let more = Z.add z (Z.shift_left Z.one bit) in go (if Z.leq (power more) target then more else z) (bit - 1) in
    Z.to_int (Z.logand (go Z.zero 40) (Z.of_int mask)) in
  let rec primes p n = if n = 0 then [] else if is_prime p then fraction p :: primes (p + 1) (n - 1) else primes (p + 1) n in
  Array.of_list (primes 2 count)
let round_constants = constants 3 64
let initial = constants 2 8

let padded s =
  let n = String.length s in
  let zeros = (119 - (n mod 64)) mod 64 in
  let length = String.init 8 (fun i -> Char.chr ((8 * n) lsr (8 * (7 - i)) land 255)) in
  s ^ "\x80" ^ String.make zeros '\000' ^ length

let schedule block =
  let w = Array.make 64 0 in
  for t = 0 to 63 do
    w.(t) <- if t < 16 then
      let byte i = Char.code block.[(4 * t) + i] in (byte 0 lsl 24) lor (byte 1 lsl 16) lor (byte 2 lsl 8) lor byte 3
    else
      let x = w.(t - 15) and y = w.(t - 2) in
      let s0 = rotate x 7 lxor rotate x 18 lxor (x lsr 3) and s1 = rotate y 17 lxor rotate y 19 lxor (y lsr 10) in
      (w.(t - 16) + s0 + w.(t - 7) + s1) land mask
  done; w

let compress h block =
  let w = schedule block and v = Array.copy h in
  for t = 0 to 63 do
    let a = v.(0) and e = v.(4) in
    let s1 = rotate e 6 lxor rotate e 11 lxor rotate e 25 and choose = (e land v.(5)) lxor ((lnot e) land mask land v.(6)) in
    let t1 = v.(7) + s1 + choose + round_constants.(t) + w.(t) in
    let s0 = rotate a 2 lxor rotate a 13 lxor rotate a 22 in
    let majority = (a land v.(1)) lxor (a land v.(2)) lxor (v.(1) land v.(2)) in
    Array.blit v 0 v 1 7;
    v.(4) <- (v.(4) + t1) land mask;
    v.(0) <- (t1 + s0 + majority) land mask
  done;
  Array.map2 (fun x y -> (x + y) land mask) h v

let hex s =
  let p = padded s in
  let rec go h i = if i = String.length p then h else go (compress h (String.sub p i 64)) (i + 64) in
  String.concat "" (Array.to_list (Array.map (Printf.sprintf "%08x") (go initial 0)))
