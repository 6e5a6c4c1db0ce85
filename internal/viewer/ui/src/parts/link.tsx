import type { ComponentChildren, JSX } from "preact";
import { address, type Changes, type View } from "../lib/address.ts";
import { go } from "../place.ts";

interface Props {
  to: View;
  params?: URLSearchParams | Changes;
  class?: string;
  title?: string;
  current?: boolean;
  children: ComponentChildren;
}

/** A link to another view. Opening it in a new tab works as with any link. */
export function Link({ to, params = {}, class: name, title, current, children }: Props): JSX.Element {
  function follow(event: MouseEvent): void {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to, params);
  }
  return (
    <a href={address(to, params)} class={name} title={title} onClick={follow} aria-current={current ? "page" : undefined}>
      {children}
    </a>
  );
}
