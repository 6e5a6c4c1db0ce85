import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { adjust, place, step } from "../place.ts";

interface Props {
  param: string;
  label: string;
  placeholder?: string;
  type?: "search" | "number";
  class?: string;
}

/** Typing rests this long (ms) before the server is asked. */
const rest = 200;

/** An input that filters: its text is a parameter of the address. */
export function Field({ param, label, placeholder, type = "search", class: name }: Props): JSX.Element {
  const current = place.value.params.get(param) ?? "";
  const [text, set] = useState(current);
  // Back, forward and links change the address under the input.
  useEffect(() => set(current), [current]);
  useEffect(() => {
    if (text === current) return;
    const timer = setTimeout(() => adjust({ [param]: text, page: null }), rest);
    return () => clearTimeout(timer);
  }, [text]);
  const input = {
    name: param,
    value: text,
    placeholder,
    autocomplete: "off",
    spellcheck: false,
    onInput: (event: { currentTarget: HTMLInputElement }) => set(event.currentTarget.value),
    // Enter does not wait for the typing to rest: the form that it submits wants the text.
    onKeyDown: (event: KeyboardEvent) => event.key === "Enter" && adjust({ [param]: text, page: null }),
  } as const;
  return (
    <label class={`field ${name ?? ""}`}>
      <span>{label}</span>
      {type === "number" ? <input type="number" min={0} step="any" {...input} /> : <input type="search" {...input} />}
    </label>
  );
}

interface ChoiceProps {
  param: string;
  label: string;
  all: string;
  values: readonly string[];
}

/** A choice that filters: one of the values, or all. */
export function Choice({ param, label, all, values }: ChoiceProps): JSX.Element {
  const current = place.value.params.get(param) ?? "";
  const known = current === "" || values.includes(current) ? values : [current, ...values];
  return (
    <label class="field">
      <span>{label}</span>
      <select name={param} value={current} onChange={(event) => step({ [param]: event.currentTarget.value, page: null })}>
        <option value="" selected={current === ""}>
          {all}
        </option>
        {known.map((value) => (
          <option value={value} selected={value === current} key={value}>
            {value}
          </option>
        ))}
      </select>
    </label>
  );
}
