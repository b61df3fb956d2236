// gwctl completion: generates the completion script of a shell from the table of commands.

import { nearest } from '../text/nearest-name.ts'
import type { Command } from './gwctl-commands.ts'

const SCRIPTS: ReadonlyMap<string, (commands: readonly Command[]) => string> = new Map([
  ['bash', bashScript],
  [
    'zsh',
    (commands) =>
      `#compdef gwctl\nautoload -U +X bashcompinit && bashcompinit\n${bashScript(commands)}`,
  ],
  ['fish', fishScript],
])

export function completion(args: readonly string[], commands: readonly Command[]): void {
  const [shell = '', unexpected] = args
  if (unexpected !== undefined) throw new Error(`unexpected argument ${unexpected}`)
  const script = SCRIPTS.get(shell)
  if (script === undefined) {
    const near = nearest(shell, [...SCRIPTS.keys()])
    const hint = near === undefined ? 'expected bash, zsh or fish' : `did you mean ${near}?`
    throw new Error(`unknown shell ${shell}: ${hint}`)
  }
  process.stdout.write(script(commands))
}

/** After each command: the words that may follow, and its options. */
function bashScript(commands: readonly Command[]): string {
  const root = { name: '', options: [] }
  const cases = [root, ...commands].map(({ name, options }) => {
    const flags = options.map((option) => `--${option.name}`)
    const words = [...childrenOf(name, commands), ...flags, '--help'].join(' ')
    return `    '${name}') words='${words}' ;;\n`
  })
  return `_gwctl() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local path='' words='' word
  case "$previous" in
    -f|--file) COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in
      --) return ;;
      [a-z]*) path="\${path:+$path }$word" ;;
    esac
  done
  case "$path" in
${cases.join('')}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _gwctl gwctl
`
}

function fishScript(commands: readonly Command[]): string {
  const seen = (words: readonly string[]): string =>
    `__fish_seen_subcommand_from ${words.join(' ')}`
  const lines = ['complete -c gwctl -f']
  for (const { name, about, options } of commands) {
    const parents = name.split(' ').slice(0, -1)
    const siblings = childrenOf(parents.join(' '), commands)
    const last = name.split(' ').at(-1)!
    const before = [...parents.map((word) => seen([word])), `not ${seen(siblings)}`].join('; and ')
    const inside = [...parents, last].map((word) => seen([word])).join('; and ')
    lines.push(`complete -c gwctl -n '${before}' -a ${last} -d '${about}'`)
    for (const option of options) {
      const short = option.short === undefined ? '' : ` -s ${option.short}`
      const value = option.value === undefined ? '' : ' -r -F'
      const flags = `-l ${option.name}${short}${value} -d '${option.about}'`
      lines.push(`complete -c gwctl -n '${inside}' ${flags}`)
    }
  }
  return lines.join('\n') + '\n'
}

/** The words that may follow the command. */
function childrenOf(parent: string, commands: readonly Command[]): string[] {
  return commands
    .map(({ name }) => name.split(' '))
    .filter((words) => words.slice(0, -1).join(' ') === parent)
    .map((words) => words.at(-1)!)
}
