/** Which file of formats/packed reads a quantization that config.json names. */
import { awqMatrix } from "../formats/packed/awq";
import { bnb4bitMatrix } from "../formats/packed/bnb-4bit";
import { compressedPackMatrix } from "../formats/packed/compressed-pack";
import { gptqMatrix } from "../formats/packed/gptq";
import { mlxMatrix } from "../formats/packed/mlx";
import type { PackedMatrix, PackedModule } from "../formats/packed/packed-matrix";
import { scaledMatrix } from "../formats/packed/scaled";
import type { Quantization } from "../models/quantization-config";

/**
 * @returns undefined where the checkpoint holds the module as floats
 * @throws WordloomError tensor-missing, tensor-mismatch
 */
export function packedMatrixOf(quantization: Quantization, module: PackedModule): PackedMatrix | undefined {
  switch (quantization.scheme) {
    case "gptq":
      return gptqMatrix(module, quantization);
    case "awq":
      return awqMatrix(module, quantization);
    case "bnb-4bit":
      return bnb4bitMatrix(module);
    case "bnb-int8":
      return scaledMatrix(module, { scales: [".SCB"], block: [1, Infinity], divisor: 127, layout: ".weight_format" });
    case "compressed-pack":
      return compressedPackMatrix(module, quantization);
    case "scaled":
      return scaledMatrix(module, {
        scales: [".weight_scale", ".weight_scale_inv"],
        block: quantization.block,
        zeroPoint: quantization.zeroPoint ? ".weight_zero_point" : undefined,
      });
    case "mlx":
      return mlxMatrix(module, quantization.modules.get(module.name) ?? quantization);
  }
}
