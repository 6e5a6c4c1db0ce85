// The answers of the viewer's API, as docs/api.md has them.

/** What every answer on runs says of itself. */
export interface Answer {
  cursor?: string;
  state: "waiting" | "reading" | "ready";
  reason: string;
  progress?: { read: number; total: number };
}

/** Where an answer is of a part of a run only: why, and of how much; null where it is of all of it. */
export type Partial = { reason: "reading" | "memory_limit" | "time_limit"; spans_read: number; spans_total: number } | null;

/** RFC 3339 in UTC with nanoseconds; null where there is none. */
export type Time = string | null;

export interface Page {
  matched: number;
  next: string;
}

export interface RunRow {
  run_id: string;
  services: string[];
  first: Time;
  last: Time;
  spans: number;
  traces: number;
  errors: number;
  processes: number;
  bytes: number;
  live: boolean;
}

export interface Runs extends Answer, Page {
  runs: RunRow[];
}

export interface Process {
  process: string;
  named_by: string;
  service: string;
  spans: number;
  errors: number;
  first: Time;
  last: Time;
}

export interface Rate {
  start: Time;
  step_ns: number;
  spans: number[];
  errors: number[];
}

export interface Run extends Answer {
  run_id: string;
  first: Time;
  last: Time;
  duration_ns: number;
  live: boolean;
  spans: number;
  traces: number;
  errors: number;
  bytes: number;
  services: { service: string; spans: number; errors: number }[];
  processes: Process[];
  rate: Rate | null;
  missing: { orphans: number; rootless_traces: number; duplicates: number; joined: number; clock: number };
  partial: Partial;
}

export interface Stage {
  name: string;
  service: string;
  count: number;
  errors: number;
  p50_ns: number;
  p95_ns: number;
  p99_ns: number;
  max_ns: number;
  sum_ns: number;
}

export interface Stages extends Answer, Page {
  partial: Partial;
  stages: Stage[];
}

export interface TraceRow {
  trace_id: string;
  root: string;
  root_service: string;
  has_root: boolean;
  start: Time;
  duration_ns: number;
  spans: number;
  errors: number;
  orphans: number;
  services: string[];
}

export interface Traces extends Answer, Page {
  partial: Partial;
  traces: TraceRow[];
}

export interface Trace extends Answer {
  partial: Partial;
  run_id: string;
  trace_id: string;
  start: Time;
  duration_us: number;
  spans: number;
  stages: { name: string; service: string; kind: string }[];
  processes: { process: string; service: string }[];
  columns: {
    span_id: string;
    parent: number[];
    stage: number[];
    process: number[];
    start_us: number[];
    duration_us: number[];
  };
  errors: number[];
  orphans: number[];
  duplicates: number;
  cut: number;
  /** The trace in Jaeger's own page; absent or empty where the server knows no Jaeger. */
  jaeger_url?: string;
}

/** A typed value of OTLP/JSON. Exactly one field is there; none means an empty value. */
export interface AnyValue {
  stringValue?: string;
  boolValue?: boolean;
  intValue?: string | number;
  doubleValue?: number | string;
  bytesValue?: string;
  arrayValue?: { values?: AnyValue[] };
  kvlistValue?: { values?: KeyValue[] };
}

export interface KeyValue {
  key?: string;
  value?: AnyValue;
}

export interface OtlpSpan {
  traceId?: string;
  spanId?: string;
  parentSpanId?: string;
  traceState?: string;
  flags?: number;
  name?: string;
  kind?: number | string;
  startTimeUnixNano?: string | number;
  endTimeUnixNano?: string | number;
  attributes?: KeyValue[];
  droppedAttributesCount?: number;
  events?: { timeUnixNano?: string | number; name?: string; attributes?: KeyValue[] }[];
  droppedEventsCount?: number;
  links?: { traceId?: string; spanId?: string; traceState?: string; attributes?: KeyValue[] }[];
  droppedLinksCount?: number;
  status?: { code?: number | string; message?: string };
}

export interface Span extends Answer {
  run_id: string;
  service: string;
  process: string;
  start: Time;
  end: Time;
  duration_ns: number;
  copies: number;
  place: { file: string; offset: number } | null;
  /** null while the run is being read and the span was not met yet. */
  span: OtlpSpan | null;
  resource: { attributes?: KeyValue[] } | null;
  scope: { name?: string; version?: string; attributes?: KeyValue[] } | null;
}

export interface MissingOfFiles extends Answer {
  no_run: { service: string; process: string; spans: number; last: Time }[];
  bad_lines: { count: number; lines: { file: string; offset: number; bytes: number; reason: string }[] };
  files: { file: string; bytes: number; read: number; problem: string }[];
}

export interface ClockRow {
  process: string;
  against: string;
  pairs: number;
  outside: number;
  before_ns: number;
  after_ns: number;
  example: { trace_id: string; span_id: string };
}

export interface MissingOfRun extends Answer {
  partial: Partial;
  orphans: {
    count: number;
    spans: { trace_id: string; span_id: string; parent_span_id: string; name: string; service: string }[];
  };
  rootless_traces: { count: number; traces: { trace_id: string; root?: string; spans?: number }[] };
  duplicates: { count: number; spans: { trace_id: string; span_id: string; copies: number }[] };
  joined: { count: number };
  clock: ClockRow[];
}
