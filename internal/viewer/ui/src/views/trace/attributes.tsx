import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Copy } from "../../parts/copy.tsx";
import { Text } from "../../parts/text.tsx";
import { count } from "../../lib/format.ts";
import { shown } from "../../lib/otlp.ts";
import { cut } from "../../lib/visible.ts";
import type { KeyValue } from "../../types.ts";

/** Attributes by their keys. A key that is there twice shows twice. */
export function Attributes({ attributes }: { attributes: KeyValue[] | undefined }): JSX.Element | null {
  if (attributes === undefined || attributes.length === 0) return null;
  const sorted = [...attributes].sort((a, b) => ((a.key ?? "") < (b.key ?? "") ? -1 : 1));
  return (
    <table class="attributes">
      <tbody>
        {sorted.map((attribute, i) => {
          const { type, text } = shown(attribute.value);
          return (
            <tr key={i}>
              <th scope="row">
                <Text value={attribute.key ?? ""} />
              </th>
              <td>
                {type !== "" && <span class="type">{type}</span>}
                {type !== "empty" && <Value text={text} />}
              </td>
              <td class="copy-cell">
                <Copy text={text} what="the value" />
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** Longer values are cut (characters) until someone asks for all of it. */
const longest = 1000;

/** A value as text, whatever is in it. */
export function Value({ text }: { text: string }): JSX.Element {
  const [all, showAll] = useState(false);
  if (text === "") return <span class="muted">empty text</span>;
  return (
    <span class="value">
      <Text value={all ? text : cut(text, longest)} />
      {text.length > longest && (
        <button type="button" class="more-text" onClick={() => showAll(!all)}>
          {all ? "Show less" : `… show all ${count(text.length)} characters`}
        </button>
      )}
    </span>
  );
}
