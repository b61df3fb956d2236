// requestHeaderModifier and responseHeaderModifier: fields added, replaced and removed.

import type { Policy } from '../base/types.ts'
import type { Fields } from '../base/wire/head.ts'
import type { HeaderModifierConfig } from '../base/cel/computed-headers.ts'

export function requestHeaderModifier(config: HeaderModifierConfig): Policy {
  return {
    kind: 'requestHeaderModifier',
    request({ request }) {
      modify(request, config)
      return undefined
    },
  }
}

export function responseHeaderModifier(config: HeaderModifierConfig): Policy {
  return {
    kind: 'responseHeaderModifier',
    response(_exchange, head) {
      modify(head, config)
    },
  }
}

/** What is removed may be added again. */
export function modify(fields: Fields, { add, set, remove }: HeaderModifierConfig): void {
  for (const name of remove) fields.remove(name)
  for (const [name, value] of set) fields.set(name, value)
  for (const [name, value] of add) fields.add(name, value)
}
