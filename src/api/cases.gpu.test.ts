import { afterAll } from "vitest";
import { TextGenerator } from "../index";
import { browserDevice } from "../testing/browser-device";
import { describeCases } from "../testing/describe-cases";
import { filesOf } from "../testing/scripted-checkpoint";
import { goldenCasesServed, goldenFilesServed } from "../testing/served-models";

const device = await browserDevice();
afterAll(() => device.destroy());

describeCases({
  load: (files) => TextGenerator.load(filesOf(files), { device, dtype: "f32", internal: { tier: "cpu" } }),
  llama: { files: await goldenFilesServed("llama"), cases: await goldenCasesServed("llama") },
});
