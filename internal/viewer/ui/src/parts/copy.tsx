import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

/** Copies a text; says so on itself for a moment. */
export function Copy({ text, what, label }: { text: string | (() => string); what: string; label?: string }): JSX.Element {
  const [state, set] = useState<"" | "done" | "failed">("");
  useEffect(() => {
    if (state === "") return;
    const timer = setTimeout(() => set(""), 1500);
    return () => clearTimeout(timer);
  }, [state]);
  async function copy(): Promise<void> {
    set((await write(typeof text === "string" ? text : text())) ? "done" : "failed");
  }
  const shown = state === "done" ? "Copied" : state === "failed" ? "Not copied" : (label ?? "Copy");
  return (
    <button type="button" class={`copy ${state}`} onClick={copy} aria-label={state === "" && label === undefined ? `Copy ${what}` : shown} title={`Copy ${what}`}>
      {shown}
    </button>
  );
}

async function write(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // The clipboard's interface is there on https and loopback only; a viewer on another host is
    // often plain http.
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "off-screen";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
