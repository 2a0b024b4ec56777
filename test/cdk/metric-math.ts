/** What is not there: CloudWatch leaves out a point of an expression for which one of its metrics has none. */
type Value = number | undefined;

/**
 * The part of CloudWatch's metric math that alarms use here, for one point in time: numbers, names, `+`, comparisons, AND, IF and
 * FILL (https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html).
 */
export function evaluateMetricMath(expression: string, valueNamed: (name: string) => Value): Value {
  const tokens = expression.match(/[A-Za-z]\w*|\d+(?:\.\d+)?|>=|==|[>+(),]/g) ?? [];
  if (tokens.join('') !== expression.replaceAll(' ', '')) throw new Error(`not modelled: ${expression}`);
  let next = 0;
  const take = (expected?: string): string => {
    const token = tokens[next++] ?? '';
    if (expected !== undefined && token !== expected)
      throw new Error(`${expected} expected, ${token} found in ${expression}`);
    return token;
  };
  const both = (a: Value, b: Value, of: (a: number, b: number) => number | boolean): Value =>
    a === undefined || b === undefined ? undefined : Number(of(a, b));

  const atom = (): Value => {
    const token = take();
    if (/^\d/.test(token)) return Number(token);
    if (tokens[next] !== '(') return valueNamed(token);
    take('(');
    const args: Value[] = [all()];
    while (tokens[next] === ',') {
      take(',');
      args.push(all());
    }
    take(')');
    if (token === 'FILL') return args[0] ?? args[1];
    if (token !== 'IF') throw new Error(`the function ${token} is not modelled`);
    if (args[0] === undefined) return undefined;
    return args[0] === 0 ? args[2] : args[1];
  };
  const sum = (): Value => {
    let value = atom();
    while (tokens[next] === '+') {
      take('+');
      value = both(value, atom(), (a, b) => a + b);
    }
    return value;
  };
  const comparison = (): Value => {
    const value = sum();
    const operator = tokens[next];
    if (operator !== '>' && operator !== '>=' && operator !== '==') return value;
    take();
    return both(value, sum(), (a, b) => (operator === '>' ? a > b : operator === '>=' ? a >= b : a === b));
  };
  function all(): Value {
    let value = comparison();
    while (tokens[next] === 'AND') {
      take('AND');
      value = both(value, comparison(), (a, b) => a !== 0 && b !== 0);
    }
    return value;
  }
  const value = all();
  if (next < tokens.length) throw new Error(`${tokens[next]} left over in ${expression}`);
  return value;
}
