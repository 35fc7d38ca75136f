// A kernel written by hand: the runner and the commands are tested with it, independently of the generator.
#include "kernel_operator.h"
#include "double_it_tiling_data.h"

class DoubleIt {
public:
    __aicore__ inline DoubleIt() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, const DoubleItTilingData *tiling, AscendC::TPipe *pipe)
    {
        start_ = static_cast<int64_t>(AscendC::GetBlockIdx()) * tiling->share;
        stop_ = start_ + tiling->share < tiling->total ? start_ + tiling->share : tiling->total;
        tile_ = tiling->tile;
        x_.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(x), tiling->total);
        y_.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(y), tiling->total);
        pipe->InitBuffer(in_, 2, static_cast<uint32_t>(tile_ * sizeof(float)));
        pipe->InitBuffer(out_, 2, static_cast<uint32_t>(tile_ * sizeof(float)));
    }

    __aicore__ inline void Process()
    {
        for (int64_t at = start_; at < stop_; at += tile_) {
            const int64_t count = at + tile_ < stop_ ? tile_ : stop_ - at;
            const AscendC::DataCopyExtParams shape{1, static_cast<uint32_t>(count * sizeof(float)), 0, 0, 0};
            const AscendC::DataCopyPadExtParams<float> pad{false, 0, 0, 0.0f};
            AscendC::LocalTensor<float> in = in_.AllocTensor<float>();
            AscendC::DataCopyPad(in, x_[at], shape, pad);
            in_.EnQue(in);
            in = in_.DeQue<float>();
            AscendC::LocalTensor<float> out = out_.AllocTensor<float>();
            AscendC::Add(out, in, in, static_cast<int32_t>(count));
            in_.FreeTensor(in);
            out_.EnQue(out);
            out = out_.DeQue<float>();
            AscendC::DataCopyPad(y_[at], out, shape);
            out_.FreeTensor(out);
        }
    }

private:
    int64_t start_;
    int64_t stop_;
    int64_t tile_;
    AscendC::GlobalTensor<float> x_;
    AscendC::GlobalTensor<float> y_;
    AscendC::TQue<AscendC::TPosition::VECIN, 2> in_;
    AscendC::TQue<AscendC::TPosition::VECOUT, 2> out_;
};

extern "C" __global__ __aicore__ void double_it(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    REGISTER_TILING_DEFAULT(DoubleItTilingData);
    GET_TILING_DATA_WITH_STRUCT(DoubleItTilingData, data, tiling);
    (void)workspace;
    AscendC::TPipe pipe;
    DoubleIt op;
    op.Init(x, y, &data, &pipe);
    op.Process();
}
