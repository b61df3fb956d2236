// How gwctl parses its command line.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseCommandLine } from '../../lib/ctl/command-line.ts'
import { COMMANDS } from '../../lib/ctl/gwctl-commands.ts'
import type { Command } from '../../lib/ctl/gwctl-commands.ts'

type Line = ReturnType<typeof parseCommandLine>

function read(...argv: string[]): { name: string | undefined; line: Line } {
  const line = parseCommandLine(argv)
  return { name: line.command?.name, line }
}

const parsing = suite('command line')

parsing('finds a command by its name, its aliases, and without proxy', () => {
  for (const typed of [
    ['proxy', 'config', 'backends'],
    ['proxy', 'cfg', 'be'],
    ['proxy', 'c', 'b'],
    ['config', 'backends'],
    ['c', 'be'],
  ])
    assert.is(read(...typed).name, 'proxy config backends', typed.join(' '))
  assert.is(read('trace').name, 'proxy trace')
  assert.is(read('profile', 'cpu').name, 'proxy profile cpu')
})

parsing('accepts options anywhere, with a space or an equals sign', () => {
  for (const typed of [
    ['proxy', 'config', '-o', 'yaml', '--file', '-', 'all'],
    ['-o=yaml', 'proxy', '--file=-', 'config', 'all'],
    ['proxy', 'config', 'all', '--output', 'yaml', '-f', '-'],
  ]) {
    const { name, line } = read(...typed)
    assert.is(name, 'proxy config all')
    assert.equal(line.invocation.options['output'], 'yaml')
    assert.equal(line.invocation.options['file'], '-')
    assert.equal(line.invocation.args, [])
  }
})

parsing('takes the word after a switch for an argument', () => {
  const { line } = read('proxy', 'trace', '--raw', 'gateway/a')
  assert.equal(line.invocation.args, ['gateway/a'])
  assert.equal(line.invocation.options['raw'], true)
})

parsing('keeps everything after --', () => {
  const { line } = read('proxy', 'trace', '--port', '1', '--', 'http://a/', '-X', 'PUT', '--', '-h')
  assert.equal(line.invocation.rest, ['http://a/', '-X', 'PUT', '--', '-h'])
  assert.equal(line.invocation.args, [])
  assert.is(line.action, 'run')
  assert.is(read('proxy', 'trace').line.invocation.rest, null)
  assert.equal(read('proxy', 'trace', '--').line.invocation.rest, [])
})

parsing('accepts values that look like numbers, options or equations', () => {
  const { line } = read('proxy', 'trace', '--expression', 'a == "b"', '--port', '007')
  assert.equal(line.invocation.options['expression'], 'a == "b"')
  assert.equal(line.invocation.options['port'], '007')
  const equation = read('proxy', 'trace', '--expression=a==b').line
  assert.equal(equation.invocation.options['expression'], 'a==b')
  assert.equal(
    read('proxy', 'profile', 'cpu', '--seconds', '-5').line.invocation.options['seconds'],
    '-5',
  )
})

parsing('collects a repeated option, and refuses to repeat any other', () => {
  const { line } = read('proxy', 'log', '--set', 'a=b', '--set=c=d')
  assert.equal(line.invocation.options['set'], ['a=b', 'c=d'])
  assert.throws(
    () => read('proxy', 'log', '--level', 'a', '--level', 'b'),
    /^--level is given more/,
  )
})

parsing('accepts --port as the admin port of a profile and as the listener of a trace', () => {
  const { line } = read('profile', 'heap', '--port', '1')
  assert.equal(line.invocation.options['proxy-admin-port'], '1')
  const { options } = read('trace', '--port', '1', '-p', '2').line.invocation
  assert.equal([options['port'], options['proxy-admin-port']], ['1', '2'])
})

parsing('recognises requests for help and version', () => {
  assert.is(read('proxy', 'trace', '--help').line.action, 'help')
  assert.is(read('-h').line.action, 'help')
  assert.is(read().line.action, 'help')
  assert.is(read('proxy').line.action, 'help')
  assert.is(read('--version').line.action, 'version')
})

parsing('suggests the nearest command or option', () => {
  const refuses = (message: string, ...typed: string[]): void =>
    assert.throws(
      () => read(...typed),
      (error: Error) => error.message === message,
    )
  refuses('Invalid command: nothing; expected version, proxy, completion', 'nothing')
  refuses('Invalid command: proxy trase; did you mean trace?', 'proxy', 'trase')
  refuses('Invalid command: prxoy; did you mean proxy?', 'prxoy')
  refuses('Invalid command: proxy config rotues; did you mean routes?', 'proxy', 'config', 'rotues')
  refuses('unknown option --rwa; did you mean --raw?', 'proxy', 'trace', '--rwa')
  refuses('unknown option --zzzzz', 'proxy', 'trace', '--zzzzz')
  refuses('unknown option --raw', 'version', '--raw')
  refuses('unknown option --nothing', '--nothing')
  refuses('--output is given more than once', 'config', 'all', '-o', 'json', '--output=yaml')
  refuses('--raw takes no value', 'proxy', 'trace', '--raw=yes')
  refuses('--port needs a value: --port <port>', 'proxy', 'trace', '--port')
  refuses('--port needs a value: --port <port>', 'proxy', 'trace', '--port', '--raw')
})

parsing('describes every command with examples that parse', () => {
  for (const command of COMMANDS as readonly Command[]) {
    assert.match(command.about, /\.$/, command.name)
    assert.ok(command.examples.length > 0, command.name)
    for (const example of command.examples) {
      const plain = example.replace(/ [|>].*$/, '').replace(/'[^']*'/g, 'x')
      assert.is(typeof read(...plain.split(' ')).name, 'string', example)
    }
  }
})

parsing.run()
