// A button that puts text where it can be pasted from.

import { html, useEffect, useState } from '../view.ts'
import type { VNode } from '../view.ts'

const SAID_MS = 2_000

export function Copy(props: { readonly text: string; readonly label?: string }): VNode {
  const { text, label = 'Copy' } = props
  const [said, say] = useState('')
  useEffect(() => {
    if (said === '') return undefined
    const timer = setTimeout(() => say(''), SAID_MS)
    return () => clearTimeout(timer)
  }, [said])
  const copy = (): void => {
    write(text).then(
      () => say('Copied'),
      () => say('Not allowed'),
    )
  }
  return html`
    <button type="button" class="copy" onClick=${copy}>
      ${label}<span class="said" role="status">${said}</span>
    </button>
  `
}

/** Browsers have a clipboard only on loopback and behind TLS; elsewhere the old way is left. */
async function write(text: string): Promise<void> {
  if (isSecureContext) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  const isDone = document.execCommand('copy')
  area.remove()
  if (!isDone) throw new Error('not copied')
}
