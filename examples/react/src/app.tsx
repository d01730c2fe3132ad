import { useRef, useState } from "react";
import type { WordLoom as WordLoomElement } from "wordloom/element";
import { WordLoom } from "./word-loom";

const BEGINNINGS = ["Once upon a time", "The little dragon", "It was raining, and"];

export function App() {
  const loom = useRef<WordLoomElement>(null);
  const [tokens, setTokens] = useState(0);
  const [outcome, setOutcome] = useState("");

  const begin = (prompt: string) => {
    setTokens(0);
    setOutcome("");
    void loom.current?.generate(prompt);
  };

  return (
    <>
      <h1>A story, begun by a button</h1>
      <p>
        {BEGINNINGS.map((prompt) => (
          <button key={prompt} onClick={() => begin(prompt)}>
            {prompt}
          </button>
        ))}
      </p>
      <WordLoom
        ref={loom}
        maxNewTokens={60}
        temperature={0.8}
        topP={0.95}
        autoload
        onToken={({ detail }) => setTokens((count) => count + detail.tokens.length)}
        onEnd={({ detail }) => setOutcome(`, ended by ${detail.finishReason}`)}
        onError={({ detail }) => setOutcome(`: ${detail.message}`)}
      />
      <p role="status">
        {tokens} tokens{outcome}
      </p>
    </>
  );
}
