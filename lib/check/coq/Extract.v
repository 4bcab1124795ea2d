(* The program: OCaml, numbers by Zarith. What is trusted besides Coq is in these lines. *)
From Coq Require Import QArith Extraction ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlZBigInt ExtrOcamlNativeString.
From Clarke Require Import Numbers Program Text Store Lipschitz Verdict Gate Direction Functions NetworkVerdict Order.

(* Zarith's rationals are in lowest terms, as Qred leaves them. *)
Extract Inductive Q => "Q.t" [ "(fun (n, d) -> Q.make n d)" ] "(fun f q -> f (Q.num q) (Q.den q))".
Extract Constant qadd => "Q.add".
Extract Constant qmul => "Q.mul".
Extract Constant qsgn => "(fun x -> let s = Q.sign x in if s < 0 then Lt else if s > 0 then Gt else Eq)".
Extract Constant Qcompare => "(fun x y -> let s = Q.compare x y in if s < 0 then Lt else if s > 0 then Gt else Eq)".
Extract Constant Qeq_bool => "Q.equal".
Extract Constant Qle_bool => "Q.leq".
Extract Constant Qinv => "Q.inv".
Extract Constant Qred => "(fun x -> x)".
Extract Constant Pos.of_nat => "(fun n -> Big_int_Z.big_int_of_int (max n 1))".
Extract Constant Z.of_nat => "Big_int_Z.big_int_of_int".
Extract Constant Z.div => "(fun a b -> let open Big_int_Z in let s = sign_big_int b in if s = 0 then zero_big_int
  else if s > 0 then div_big_int a b else div_big_int (minus_big_int a) (minus_big_int b))".
Extract Constant Z.sqrt => "(fun a -> if Big_int_Z.sign_big_int a < 0 then Big_int_Z.zero_big_int else Big_int_Z.sqrt_big_int a)".
Extract Constant Nat.div => "(fun n m -> if m = 0 then 0 else n / m)".
Extract Constant half => "(fun k -> if k = 0 then 0 else (k - 1) lsr 1)".
Extract Constant even_ => "(fun k -> k land 1 = 0)".
Extract Constant Nat.modulo => "(fun n m -> if m = 0 then n else n mod m)".

Extraction "verified_kernel.ml" check parse parse_gates check_functions without_comparisons read_question in_wrt check_network
  program_of program_with_loss rename_gate.
