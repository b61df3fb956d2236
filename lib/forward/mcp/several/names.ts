// Names that clients see, where several targets appear as one: `target_tool`, `target+uri`. A target's own names may
// hold the separators; its name may not, so the first one parts them.

export type ItemKind = 'tool' | 'prompt' | 'resource' | 'task'

export interface Owned {
  readonly target: string
  /** As the target knows it. */
  readonly name: string
}

/**
 * `plain`: one target, and its names as they are. `prefixed`: the target's name in front.
 * `shared`: several targets and no prefix; who owns a name is known from the lists only.
 */
export type Style = 'plain' | 'prefixed' | 'shared'

const APP_SCHEME = 'ui://'

export class Names {
  readonly style: Style
  readonly #targets: readonly string[]

  constructor(mode: 'conditional' | 'always' | 'never', targets: readonly string[]) {
    this.#targets = targets
    const isOne = targets.length === 1
    const isPrefixed = mode === 'always' || (mode === 'conditional' && !isOne)
    this.style = isPrefixed ? 'prefixed' : isOne ? 'plain' : 'shared'
  }

  /** As clients see it. */
  outward(kind: ItemKind, { target, name }: Owned): string {
    if (this.style !== 'prefixed') return name
    if (kind === 'tool' || kind === 'prompt') return `${target}_${name}`
    if (name.startsWith(APP_SCHEME)) return `${APP_SCHEME}${target}+${name.slice(5)}`
    return `${target}+${name}`
  }

  /** Whose it is; null when that is nobody's name, undefined when only the lists can tell. */
  inward(kind: ItemKind, text: string): Owned | null | undefined {
    if (this.style === 'plain') return { target: this.#targets[0]!, name: text }
    if (this.style === 'shared') return undefined
    const scheme = text.startsWith(APP_SCHEME) && kind === 'resource' ? APP_SCHEME : ''
    const rest = text.slice(scheme.length)
    const at = rest.indexOf(kind === 'tool' || kind === 'prompt' ? '_' : '+')
    const target = rest.slice(0, Math.max(at, 0))
    if (!this.#targets.includes(target)) return null
    return { target, name: scheme + rest.slice(at + 1) }
  }
}
