// OTLP/JSON as a person reads it. Pure functions; nothing is ever looked up by a key of the data.
import type { AnyValue, OtlpSpan } from "../types.ts";

export interface Shown {
  /** "" for a string, which is what most values are; else int, double, bool, bytes, array, map, empty. */
  type: string;
  text: string;
}

/** A value is cut below this depth: a hostile one must not exhaust the stack. */
const deepest = 40;

/** The type and text of an attribute's value. */
export function shown(value: AnyValue | undefined): Shown {
  if (value?.stringValue !== undefined) return { type: "", text: value.stringValue };
  if (value?.intValue !== undefined) return { type: "int", text: String(value.intValue) };
  if (value?.doubleValue !== undefined) return { type: "double", text: String(value.doubleValue) };
  if (value?.boolValue !== undefined) return { type: "bool", text: String(value.boolValue) };
  if (value?.bytesValue !== undefined) return { type: "bytes", text: value.bytesValue };
  if (value?.arrayValue) return { type: "array", text: nested(value, 0) };
  if (value?.kvlistValue) return { type: "map", text: nested(value, 0) };
  return { type: "empty", text: "" };
}

function nested(value: AnyValue | undefined, depth: number): string {
  if (depth > deepest) return "…";
  if (value?.arrayValue) {
    return "[" + (value.arrayValue.values ?? []).map((v) => nested(v, depth + 1)).join(", ") + "]";
  }
  if (value?.kvlistValue) {
    const pairs = (value.kvlistValue.values ?? []).map(
      (pair) => JSON.stringify(pair.key ?? "") + ": " + nested(pair.value, depth + 1),
    );
    return "{" + pairs.join(", ") + "}";
  }
  const { type, text } = shown(value);
  if (type === "empty") return "null";
  return type === "" || type === "bytes" ? JSON.stringify(text) : text;
}

const kinds = ["unspecified", "internal", "server", "client", "producer", "consumer"];

/** internal, server, client, producer, consumer or unspecified. */
export function kindName(kind: OtlpSpan["kind"]): string {
  if (typeof kind === "string") return kind.replace(/^SPAN_KIND_/, "").toLowerCase();
  return kinds[kind ?? 0] ?? String(kind);
}

/** error, ok or unset. */
export function statusName(status: OtlpSpan["status"]): "error" | "ok" | "unset" {
  switch (status?.code) {
    case 2:
    case "STATUS_CODE_ERROR":
      return "error";
    case 1:
    case "STATUS_CODE_OK":
      return "ok";
    default:
      return "unset";
  }
}
