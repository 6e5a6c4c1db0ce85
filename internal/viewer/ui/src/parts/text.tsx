import type { JSX } from "preact";
import { pieces } from "../lib/visible.ts";

/**
 * Text that others wrote. Its direction stays its own (bdi), and characters without a look are named,
 * so that no value can rearrange or imitate what stands around it.
 */
export function Text({ value, class: name }: { value: string; class?: string }): JSX.Element {
  const parts = pieces(value);
  if (parts.length === 1 && !parts[0]!.code) return <bdi class={name}>{value}</bdi>;
  return (
    <bdi class={name}>
      {parts.map((part) => (part.code ? <span class="code-point">{part.text}</span> : part.text))}
    </bdi>
  );
}
