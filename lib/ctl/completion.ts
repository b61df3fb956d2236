// gwctl completion: a script for a shell that knows the words of every command, written from the table of commands.

import type { Command, Option } from './command.ts'
import { nearest } from './nearest.ts'

type Shell = 'bash' | 'zsh' | 'fish'

const SCRIPTS: Readonly<Record<Shell, (commands: readonly Command[]) => string>> = {
  bash: bashScript,
  zsh: (commands) =>
    `#compdef gwctl\nautoload -U +X bashcompinit && bashcompinit\n${bashScript(commands)}`,
  fish: fishScript,
}

export function completion(words: readonly string[], commands: readonly Command[]): void {
  const [shell = '', ...more] = words
  if (more.length > 0) throw new Error(`unexpected argument ${more[0]}`)
  if (!isShell(shell)) {
    const near = nearest(shell, Object.keys(SCRIPTS))
    const hint = near === null ? 'expected bash, zsh or fish' : `did you mean ${near}?`
    throw new Error(
      shell === '' ? 'a shell is missing: bash, zsh or fish' : `unknown shell ${shell}: ${hint}`,
    )
  }
  process.stdout.write(SCRIPTS[shell](commands))
}

function isShell(word: string): word is Shell {
  return word in SCRIPTS
}

/** Behind each command: the words that may follow, and its options. */
function bashScript(commands: readonly Command[]): string {
  const cases = ['', ...commands.map(({ name }) => name)].map((name) => {
    const words = [...childrenOf(name, commands), ...flagsOf(name, commands)].join(' ')
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
  const lines = ['complete -c gwctl -f']
  for (const { name, about, options } of commands) {
    const words = name.split(' ')
    const last = words.pop()!
    const inside = words.map((word) => `__fish_seen_subcommand_from ${word}`)
    const without = `not __fish_seen_subcommand_from ${siblings(name, commands).join(' ')}`
    const place = [...inside, without].join('; and ')
    lines.push(`complete -c gwctl -n '${place}' -a ${last} -d '${quoted(about)}'`)
    const here = [...words, last]
      .map((word) => `__fish_seen_subcommand_from ${word}`)
      .join('; and ')
    for (const option of options) lines.push(`complete -c gwctl -n '${here}' ${fishOption(option)}`)
  }
  return lines.join('\n') + '\n'
}

function fishOption({ name, short, value, about }: Option): string {
  const letter = short === undefined ? '' : ` -s ${short}`
  return `-l ${name}${letter}${value === undefined ? '' : ' -r -F'} -d '${quoted(about)}'`
}

function siblings(name: string, commands: readonly Command[]): string[] {
  return childrenOf(name.split(' ').slice(0, -1).join(' '), commands)
}

function childrenOf(name: string, commands: readonly Command[]): string[] {
  const depth = name === '' ? 0 : name.split(' ').length
  const start = name === '' ? '' : `${name} `
  return commands
    .filter((command) => command.name.startsWith(start))
    .map((command) => command.name.split(' '))
    .filter((words) => words.length === depth + 1)
    .map((words) => words[depth]!)
}

function flagsOf(name: string, commands: readonly Command[]): string[] {
  const options = commands.find((command) => command.name === name)?.options ?? []
  return [...options.map((option) => `--${option.name}`), '--help']
}

function quoted(text: string): string {
  return text.replace(/'/g, "\\'")
}
