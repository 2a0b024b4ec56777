declare module 'asciichart' {
  interface PlotOptions {
    readonly height?: number;
    readonly offset?: number;
    readonly min?: number;
    readonly max?: number;
    readonly format?: (value: number) => string;
  }
  const asciichart: { plot(series: number[] | number[][], options?: PlotOptions): string };
  export default asciichart;
}
