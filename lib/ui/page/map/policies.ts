// The policies of a route on the map: in a frame, each a button, or all as one box that counts them.

import { html } from '../view.ts'
import type { ComponentChildren, VNode } from '../view.ts'
import { GraphBox, PolicyFace } from './box.ts'
import { MOST_LISTED, policyGrid } from './layout.ts'
import type { Layout, PolicyForm } from './layout.ts'
import { policiesId } from './lines.ts'
import type { RouteBox } from './model.ts'
import { some } from './words.ts'

interface FrameProps {
  readonly box: RouteBox
  readonly layout: Layout
  readonly form: PolicyForm
  readonly opened: string | null
  readonly open: (id: string) => void
  readonly style: Readonly<Record<string, string>>
}

export function PolicyFrame(props: FrameProps): VNode {
  const { box, layout, form, style } = props
  if (form === 'counts') return html`<${PolicyCount} ...${props} />`
  const { width } = layout.rects.get(policiesId(box))!
  const count = box.policies.length
  const { across } = policyGrid(count, width)
  const reason = reasonOf(box)
  const listed = count > MOST_LISTED + 1 ? MOST_LISTED : count
  return html`
    <div class=${`frame across-${across} ${reason === null ? '' : 'bad-box'}`} style=${style}>
      <${PolicyButtons} ...${props} listed=${listed} />
      ${reason !== null && html`<span class="one-line bad reason">${reason}</span>`}
    </div>
  `
}

/** What is wrong with the first that something is wrong with. */
export function reasonOf({ policies }: RouteBox): string | null {
  return policies.flatMap(({ policy }) => policy.problems)[0] ?? null
}

export function PolicyCount(
  props: Omit<FrameProps, 'layout' | 'form' | 'style'> & Partial<FrameProps>,
): VNode {
  const { box, opened, open, style } = props
  const { policies, route } = box
  const id = policiesId(box)
  const reason = reasonOf(box)
  return html`
    <${GraphBox}
      id=${id}
      what=${`Of route ${route.name}:`}
      kind="policies"
      isBad=${reason !== null}
      isOpen=${opened === id}
      open=${open}
      style=${style}
    >
      <span class="one-line">
        ${policies.length === 1 ? policies[0]!.policy.kind : some(policies.length, 'policy', 'policies')}
      </span>
      ${reason !== null && html`<span class="one-line bad">${reason}</span>`}
    <//>
  `
}

function PolicyButtons(props: FrameProps & { readonly listed: number }): ComponentChildren {
  const { box, listed, opened, open } = props
  const { policies, route } = box
  const id = policiesId(box)
  return html`
    ${policies.slice(0, listed).map(
      (policy) => html`
        <${GraphBox}
          key=${policy.id}
          id=${policy.id}
          what=${`Policy of route ${route.name}:`}
          kind="policy"
          isBad=${policy.policy.problems.length > 0}
          isOpen=${opened === policy.id}
          open=${open}
        >
          <${PolicyFace} box=${policy} />
        <//>
      `,
    )}
    ${
      policies.length > listed &&
      html`
        <${GraphBox}
          id=${id}
          what=${`Policies of route ${route.name}:`}
          kind="policy"
          isBad=${false}
          isOpen=${opened === id}
          open=${open}
        >
          <span class="dim">${policies.length - listed} more</span>
        <//>
      `
    }
  `
}
