import { gpuHarness, TIERS } from "../testing/gpu-harness";
import { describeSamplingOptions } from "../testing/sampling-options";

const gpu = gpuHarness();
for (const tier of TIERS) if (tier !== "cpu") describeSamplingOptions(gpu, tier);
