// gwctl as a program: help, completion, errors, and the modules that it loads at start.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { COMMANDS } from '../../lib/ctl/gwctl-commands.ts'
import { Folder } from '../support/folder.ts'
import { runProgram } from '../support/program.ts'
import { ROOT } from '../support/root.ts'

const STATIC = /^import\s+(?!type\b)(?:[\w\s{},*$]*\sfrom\s+)?['"]([^'"]+)['"]/gm

/** Every module that is imported statically. */
function loadedBy(path: string, seen = new Set<string>()): Set<string> {
  for (const [, target = ''] of readFileSync(join(ROOT, path), 'utf8').matchAll(STATIC)) {
    const to = target.startsWith('.') ? join(path, '..', target) : target
    if (seen.has(to)) continue
    seen.add(to)
    if (target.startsWith('.')) loadedBy(to, seen)
  }
  return seen
}

const program = suite('gwctl')

program('prints help with examples for every command', async () => {
  for (const { name, options, examples } of COMMANDS) {
    const { code, stdout, stderr } = await runProgram('gwctl', [...name.split(' '), '--help'])
    assert.equal([stderr, code], ['', 0], name)
    for (const option of options) assert.match(stdout, `--${option.name}`)
    for (const example of examples) assert.match(stdout, `$ gwctl ${example}`)
  }
})

program('lists the commands if none is given', async () => {
  for (const args of [[], ['--help'], ['-h']]) {
    const { code, stdout } = await runProgram('gwctl', args)
    assert.is(code, 0)
    for (const { name } of COMMANDS) assert.match(stdout, new RegExp(`^ {4}${name} `, 'm'))
  }
  const group = await runProgram('gwctl', ['proxy', 'config'])
  assert.match(group.stdout, 'proxy config backends  List backends.')
  assert.is(group.code, 0)
})

program('reports an invalid command line in one line and exits with 1', async () => {
  for (const [args, message] of [
    [['versoin'], 'Invalid command: versoin; did you mean version?'],
    [['version', '--nothing'], 'unknown option --nothing'],
    [['version', 'now'], 'unexpected argument now'],
    [['version', '--', 'x'], 'unexpected argument --'],
    [['completion', 'fisch'], 'unknown shell fisch: did you mean fish?'],
    [['completion'], 'missing argument <bash|zsh|fish>'],
  ] as const) {
    const { code, stdout, stderr } = await runProgram('gwctl', args)
    assert.equal([stdout, stderr, code], ['', `Error: ${message}\n`, 1])
  }
})

program('prints no colours into a pipe', async () => {
  const env = { FORCE_COLOR: '3', TERM: 'xterm-256color' }
  for (const args of [['--help'], ['proxy', 'trace', '--help'], ['nothing']]) {
    const { stdout, stderr } = await runProgram('gwctl', args, env)
    assert.not.match(stdout + stderr, '\x1b')
  }
})

program('completes commands and options in bash', async () => {
  const { stdout } = await runProgram('gwctl', ['completion', 'bash'])
  const folder = new Folder()
  const script = folder.write('gwctl.bash', stdout)
  const complete = (...words: string[]): string[] => {
    const line = `source ${script}; COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')})
COMP_CWORD=${words.length - 1}; _gwctl; printf '%s\\n' "\${COMPREPLY[@]}"`
    const { status, stdout: found } = spawnSync('bash', ['-c', line], { encoding: 'utf8' })
    assert.is(status, 0)
    return found.trim().split('\n')
  }
  assert.equal(complete('gwctl', ''), ['version', 'proxy', 'completion', '--help'])
  assert.equal(complete('gwctl', 'proxy', 't'), ['trace', 'tasks'])
  assert.equal(complete('gwctl', 'proxy', 'config', 'b'), ['backends'])
  assert.equal(complete('gwctl', 'proxy', 'trace', '--p'), ['--port', '--proxy-admin-port'])
  folder.close()
})

program('prints scripts for zsh and fish', async () => {
  const zsh = await runProgram('gwctl', ['completion', 'zsh'])
  assert.match(zsh.stdout, /^#compdef gwctl\n/)
  const fish = await runProgram('gwctl', ['completion', 'fish'])
  assert.match(fish.stdout, /^complete -c gwctl -f\n/)
  assert.match(fish.stdout, '-a backends')
})

program('loads only the parser and the table of commands at start', () => {
  assert.equal(
    [...loadedBy('bin/gwctl.ts')],
    [
      ...['lib/ctl/command-line.ts', 'sade', 'lib/text/nearest-name.ts'],
      'lib/ctl/gwctl-commands.ts',
    ],
  )
})

program('never loads a slow module', () => {
  for (const path of [
    ...['command-line', 'trace-command', 'config-command', 'profile-command', 'inspect-commands'],
    ...['shell-completion', 'trace-screen'],
  ]) {
    const loaded = [...loadedBy(`lib/ctl/${path}.ts`)]
    const heavy = loaded.filter((name) => /lib\/(?:expressions|config)|zod|undici|jose/.test(name))
    assert.equal(heavy, [], path)
  }
})

program.run()
