import { effect } from "@preact/signals";
import { render, type JSX } from "preact";
import { shortId } from "./lib/format.ts";
import { visible } from "./lib/visible.ts";
import { Link } from "./parts/link.tsx";
import { Notice } from "./parts/notice.tsx";
import { Shell } from "./parts/shell.tsx";
import { place } from "./place.ts";
import { MissingView } from "./views/missing.tsx";
import { RunView } from "./views/run/run.tsx";
import { RunsView } from "./views/runs.tsx";
import { TraceView } from "./views/trace/trace.tsx";
import "./style/app.css";

function View(): JSX.Element {
  switch (place.value.view) {
    case "runs":
      return <RunsView />;
    case "run":
      return <RunView />;
    case "trace":
      return <TraceView />;
    case "missing":
      return <MissingView />;
    default:
      return (
        <Notice kind="error">
          There is no such view. <Link to="runs">All runs</Link>
        </Notice>
      );
  }
}

effect(() => {
  const { view, params } = place.value;
  const run = visible(params.get("run") ?? "");
  const titles = {
    runs: "Runs",
    run,
    trace: `${shortId(params.get("id") ?? "")} · ${run}`,
    missing: `What is missing${run && " · " + run}`,
    unknown: "Not found",
  };
  document.title = `${titles[view]} · Runspan`;
});

render(
  <Shell>
    <View />
  </Shell>,
  document.getElementById("app")!,
);
